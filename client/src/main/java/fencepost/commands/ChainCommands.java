package fencepost.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.chains.ChainList;
import fencepost.chains.ChainPass;
import fencepost.chains.ChainStore;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import fencepost.history.Outcome;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.apache.bookkeeper.client.BKException;
import org.apache.zookeeper.KeeperException;

/** Logs of ledgers: chain_list, chain_extend, chain_read. */
public final class ChainCommands {
    private final ChainStore store;
    private final ChainPass pass;

    /** Commands of {@code session}. */
    public ChainCommands(Session session) {
        this.store = new ChainStore(session.zookeeper());
        this.pass = new ChainPass(session, store);
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("chain_list", (parameters, progress) -> list(parameters));
        commands.put("chain_extend", (parameters, progress) -> extend(parameters));
        commands.put("chain_read", (parameters, progress) ->
                reply().put("entries", pass.read(parameters.text("chain"))));
    }

    private ObjectNode list(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("chain");
        try {
            ChainList list = store.read(name);
            ObjectNode reply = reply().put("version", list.version());
            reply.set("ledgers", ChainList.array(list.ledgers()));
            return reply;
        } catch (IOException | KeeperException e) {
            throw unreachable(name, e);
        }
    }

    private ObjectNode extend(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("chain");
        List<Long> ledgers = new ArrayList<>();
        for (JsonNode ledger : parameters.array("ledgers")) {
            ledgers.add(ledger.longValue());
        }
        try {
            OptionalInt version = store.write(name, ledgers, (int) parameters.number("version"));
            if (version.isPresent()) {
                return reply().put("version", version.getAsInt());
            }
        } catch (IOException | KeeperException e) {
            throw unreachable(name, e);
        }
        throw CommandException.bookkeeper(BKException.Code.MetadataVersionException, Outcome.FAIL,
                "somebody else wrote the list of log " + name);
    }

    private static CommandException unreachable(String name, Exception cause) {
        return CommandException.bookkeeper(BKException.Code.ZKException, Outcome.UNKNOWN,
                "the list of log " + name + " cannot be reached (" + cause.getMessage() + ")");
    }

    private static ObjectNode reply() {
        return JsonNodeFactory.instance.objectNode();
    }
}
