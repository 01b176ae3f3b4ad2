package fencepost.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.BackgroundJob;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import fencepost.history.Completion;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.Refusals;
import fencepost.ledgers.Writer;
import fencepost.payload.Payload;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.function.LongUnaryOperator;
import org.apache.bookkeeper.client.FencepostAccess;

/** Adding entries: append, stop, status, await_acked, force, write_lac. */
public final class AppendCommands {
    private static final int DEFAULT_ENTRY_BYTES = 1024;
    private static final int DEFAULT_OUTSTANDING = 100;
    private static final double DEFAULT_TIMEOUT_S = 30;
    private static final double NS_PER_S = 1e9;

    private final Session session;

    /** Commands of {@code session}. */
    public AppendCommands(Session session) {
        this.session = session;
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("append", (parameters, progress) -> append(parameters));
        commands.put("stop", (parameters, progress) -> stop(parameters));
        commands.put("status", (parameters, progress) -> status(parameters));
        commands.put("await_acked", (parameters, progress) -> awaitAcked(parameters));
        commands.put("force", (parameters, progress) -> force(parameters));
        commands.put("write_lac", (parameters, progress) -> writeLac(parameters));
    }

    private ObjectNode append(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        Ledger ledger = session.handles().get(name);
        // A handle that only reads is tried as it is: its client has to refuse the add.
        Writer writer = ledger instanceof Writer created ? created : Writer.over(ledger);
        Appender appender = appender(parameters, writer);
        if (parameters.flag("background")) {
            Jobs.start(session, name, appender);
            return reply().put("started", true);
        }
        appender.run();
        ObjectNode totals = appender.totals();
        int error = appender.firstError();
        if (error == Errors.OK) {
            return totals;
        }
        Outcome outcome = totals.get("unknown").longValue() > 0 ? Outcome.UNKNOWN : Outcome.FAIL;
        throw CommandException.bookkeeper(error, outcome, "ledger " + writer.id() + " broke", totals);
    }

    private Appender appender(Parameters parameters, Writer writer) throws CommandException {
        LongUnaryOperator ids = null;
        long entries = parameters.number("entries", Long.MAX_VALUE);
        if (parameters.has("ids")) {
            JsonNode given = parameters.array("ids");
            ids = index -> given.get((int) index).longValue();
            entries = given.size();
        }
        if (writer.isAdv() != (ids != null)) {
            throw CommandException.badRequest("ids go with a handle that was created with adv, and must be there");
        }
        if (entries == Long.MAX_VALUE && !parameters.flag("background")) {
            throw CommandException.badRequest("an append without entries must be in the background");
        }
        return new Appender(
                writer, entries, ids,
                parameters.count("entry_bytes", Payload.MIN_BYTES, DEFAULT_ENTRY_BYTES),
                parameters.count("outstanding", 1, DEFAULT_OUTSTANDING),
                parameters.real("rate_per_s", 0),
                parameters.has("copy_to") ? session.handles().writer(parameters.text("copy_to")) : null);
    }

    private ObjectNode stop(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        BackgroundJob job = session.handles().stopped(name).orElseThrow(() ->
                CommandException.badRequest("the handle " + name + " has no job in the background"));
        job.stop();
        return job.totals(timeoutNs(parameters));
    }

    private ObjectNode status(Parameters parameters) throws CommandException {
        Writer writer = session.handles().writer(parameters.text("handle"));
        return writer.tally().into(reply()).put("ledger", writer.id()).put("lac", writer.told());
    }

    private ObjectNode awaitAcked(Parameters parameters) throws CommandException, InterruptedException {
        Writer writer = session.handles().writer(parameters.text("handle"));
        long wanted = parameters.number("entries");
        writer.tally().await(
                tally -> tally.acked() >= wanted || tally.firstError() != Errors.OK, timeoutNs(parameters));
        ObjectNode totals = writer.tally().into(reply());
        if (writer.tally().acked() >= wanted) {
            return totals;
        }
        int error = writer.tally().firstError();
        if (error != Errors.OK) {
            throw CommandException.bookkeeper(
                    error, Outcome.UNKNOWN, "ledger " + writer.id() + " broke", totals);
        }
        throw CommandException.timeout("fewer than " + wanted + " entries were acknowledged in time", totals);
    }

    private ObjectNode force(Parameters parameters) throws CommandException, InterruptedException {
        Writer writer = session.handles().writer(parameters.text("handle"));
        boolean closedBefore = writer.handle().isClosed();
        long acked = writer.tally().lastAcked();
        Pending pending = session.history().begin(
                writer.invocation(Kind.FORCE, 0).about(acked, Ledger.NONE));
        try {
            writer.handle().force().get();
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            Outcome outcome = Refusals.ofForce(code, closedBefore) ? Outcome.FAIL : Outcome.UNKNOWN;
            pending.complete(Completion.failed(outcome, code, writer.id()));
            throw CommandException.bookkeeper(code, outcome, "ledger " + writer.id() + " was not forced");
        }
        long lac = writer.handle().getLastAddConfirmed();
        pending.complete(Completion.ok(writer.id()).telling(acked, lac));
        writer.tell(lac);
        return reply().put("ledger", writer.id()).put("lac", lac);
    }

    private ObjectNode writeLac(Parameters parameters) throws CommandException, InterruptedException {
        Writer writer = session.handles().writer(parameters.text("handle"));
        Pending pending = session.history().begin(writer.invocation(Kind.WRITE_LAC, 0));
        try {
            long lac = FencepostAccess.writeLac(writer.handle()).get();
            pending.complete(Completion.ok(writer.id()).telling(Ledger.NONE, lac));
            writer.tell(lac);
            return reply().put("ledger", writer.id()).put("lac", lac);
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            pending.complete(Completion.failed(Outcome.UNKNOWN, code, writer.id()));
            throw CommandException.bookkeeper(code, Outcome.UNKNOWN, "the LAC was not written");
        }
    }

    private static long timeoutNs(Parameters parameters) throws CommandException {
        return (long) (parameters.real("timeout_s", DEFAULT_TIMEOUT_S) * NS_PER_S);
    }

    private static ObjectNode reply() {
        return JsonNodeFactory.instance.objectNode();
    }
}
