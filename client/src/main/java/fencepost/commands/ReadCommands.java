package fencepost.commands;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import fencepost.history.Flag;
import fencepost.history.Outcome;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.LedgerReader;
import java.util.Map;

/** Reading: read, batch_read, lac, tail. */
public final class ReadCommands {
    private static final int DEFAULT_BATCH = 100;

    private final Session session;

    /** Commands of {@code session}. */
    public ReadCommands(Session session) {
        this.session = session;
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("read", (parameters, progress) -> read(parameters));
        commands.put("batch_read", (parameters, progress) -> batchRead(parameters));
        commands.put("lac", (parameters, progress) -> lac(parameters));
        commands.put("tail", (parameters, progress) -> tail(parameters));
    }

    private ObjectNode read(Parameters parameters) throws CommandException, InterruptedException {
        Ledger ledger = session.handles().get(parameters.text("handle"));
        int flags = parameters.flag("unconfirmed") ? Flag.UNCONFIRMED.code() : 0;
        return delivered(ledger, new LedgerReader(ledger, flags).readAll(
                parameters.number("first"), parameters.number("last"),
                parameters.count("batch", 1, DEFAULT_BATCH)));
    }

    private ObjectNode batchRead(Parameters parameters) throws CommandException, InterruptedException {
        Ledger ledger = session.handles().get(parameters.text("handle"));
        return delivered(ledger, new LedgerReader(ledger, Flag.BATCH.code()).read(
                parameters.number("first"), parameters.number("last")));
    }

    private static ObjectNode delivered(Ledger ledger, LedgerReader.Range range) throws CommandException {
        ObjectNode reply = reply().put("entries", range.delivered());
        if (range.error() == Errors.OK) {
            return reply;
        }
        reply.put("first_error", Errors.name(range.error()));
        throw CommandException.bookkeeper(
                range.error(), Outcome.UNKNOWN, "ledger " + ledger.id() + " was not read to the end", reply);
    }

    private ObjectNode lac(Parameters parameters) throws CommandException, InterruptedException {
        Ledger ledger = session.handles().get(parameters.text("handle"));
        LastConfirmed answer = LastConfirmed.read(ledger, 0);
        if (answer.error() != Errors.OK) {
            throw CommandException.bookkeeper(answer.error(), Outcome.UNKNOWN, "the LAC cannot be read");
        }
        return reply().put("lac", answer.lac());
    }

    private ObjectNode tail(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        Tail tail = new Tail(session.handles().get(name));
        if (parameters.flag("background")) {
            Jobs.start(session, name, tail);
            return reply().put("started", true);
        }
        tail.run();
        return tail.totals(0);
    }

    private static ObjectNode reply() {
        return JsonNodeFactory.instance.objectNode();
    }
}
