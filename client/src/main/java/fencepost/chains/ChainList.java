package fencepost.chains;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The ledgers of a log in the order of its znode.
 *
 * @param ledgers their ids
 * @param version of the znode, {@link #NONE} when there is none yet
 * @param born the transaction (zxid) that made the znode, {@link #NONE} when there is none yet
 */
public record ChainList(List<Long> ledgers, int version, long born) {
    /** Stands for "no znode". */
    public static final int NONE = -1;

    private static final String LEDGERS = "ledgers";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A log that has no znode yet. */
    static ChainList absent() {
        return new ChainList(List.of(), NONE, NONE);
    }

    /**
     * What a znode's bytes say.
     *
     * @throws IOException when they are no list of ledgers
     */
    static ChainList parse(byte[] data, int version, long born) throws IOException {
        JsonNode listed = JSON.readTree(data).get(LEDGERS);
        if (listed == null || !listed.isArray()) {
            throw new IOException("the znode has no list of ledgers");
        }
        List<Long> ledgers = new ArrayList<>();
        listed.forEach(ledger -> ledgers.add(ledger.longValue()));
        return new ChainList(List.copyOf(ledgers), version, born);
    }

    /** A znode's bytes for these ledgers. */
    static byte[] bytes(List<Long> ledgers) {
        try {
            return JSON.writeValueAsBytes(JsonNodeFactory.instance.objectNode().set(LEDGERS, array(ledgers)));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ids as a list of JSON. */
    public static ArrayNode array(List<Long> ledgers) {
        ArrayNode listed = JsonNodeFactory.instance.arrayNode();
        ledgers.forEach(listed::add);
        return listed;
    }
}
