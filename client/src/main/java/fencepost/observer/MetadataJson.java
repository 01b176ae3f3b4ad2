package fencepost.observer;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.net.BookieId;

/** A ledger's metadata in the words of a reply. */
public final class MetadataJson {
    private MetadataJson() {
    }

    /** Writes {@code metadata} into {@code reply}. */
    static void write(LedgerMetadata metadata, ObjectNode reply) {
        reply.put("state", metadata.getState().name())
                .put("last_entry", metadata.isClosed() ? metadata.getLastEntryId() : -1)
                .put("ensemble", metadata.getEnsembleSize())
                .put("write_quorum", metadata.getWriteQuorumSize())
                .put("ack_quorum", metadata.getAckQuorumSize());
        ArrayNode fragments = reply.putArray("fragments");
        metadata.getAllEnsembles().forEach((first, bookies) -> {
            names(bookies, fragments.addObject().put("first_entry", first).putArray("bookies"));
        });
    }

    /** Writes the names of {@code bookies} into {@code names}, in their order. */
    public static void names(List<BookieId> bookies, ArrayNode names) {
        bookies.forEach(bookie -> names.add(bookie.toString().replaceFirst(":3181$", "")));
    }
}
