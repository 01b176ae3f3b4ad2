package fencepost.commands;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import fencepost.history.Completion;
import fencepost.history.Flag;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.Refusals;
import fencepost.ledgers.Writer;
import fencepost.observer.MetadataJson;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.api.CreateBuilder;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.WriteFlag;

/** The life of a ledger: create, open, close, delete; and {@code release}, which forgets a handle. */
public final class LedgerCommands {
    private final Session session;

    /** Commands of {@code session}. */
    public LedgerCommands(Session session) {
        this.session = session;
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("create", (parameters, progress) -> create(parameters));
        commands.put("open", (parameters, progress) -> open(parameters));
        commands.put("close", (parameters, progress) -> close(parameters));
        commands.put("delete", (parameters, progress) -> delete(parameters));
        commands.put("release", (parameters, progress) -> release(parameters));
    }

    private ObjectNode create(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        session.handles().requireFree(name);
        int ensemble = parameters.count("ensemble", 1, 3);
        int writeQuorum = parameters.count("write_quorum", 1, ensemble);
        int ackQuorum = parameters.count("ack_quorum", 0, writeQuorum);
        int flags = parameters.flag("deferred") ? Flag.DEFERRED_SYNC.code() : 0;
        flags |= parameters.flag("adv") ? Flag.ADV.code() : 0;
        CreateBuilder builder = session.bookkeeper().newCreateLedgerOp()
                .withEnsembleSize(ensemble).withWriteQuorumSize(writeQuorum).withAckQuorumSize(ackQuorum)
                .withDigestType(digest(parameters.text("digest", "CRC32C")))
                .withCustomMetadata(metadata(parameters.object("metadata")))
                .withPassword(session.password());
        if (parameters.flag("deferred")) {
            builder = builder.withWriteFlags(WriteFlag.DEFERRED_SYNC);
        }
        int number = session.newHandleNumber();
        Pending pending = session.history().begin(
                Invocation.onHandle(Kind.CREATE, flags, Ledger.NONE, number, Ledger.NONE));
        try {
            LedgerHandle handle = (LedgerHandle) (parameters.flag("adv")
                    ? builder.makeAdv().execute().get()
                    : builder.execute().get());
            pending.complete(Completion.ok(handle.getId()));
            session.handles().put(
                    name, new Writer(handle, number, flags, session.history(), session.identity()));
            ObjectNode reply = reply().put("ledger", handle.getId());
            MetadataJson.names(handle.getLedgerMetadata().getEnsembleAt(0), reply.putArray("bookies"));
            return reply;
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            Outcome outcome = Refusals.ofCreate(code, ensemble, writeQuorum, ackQuorum)
                    ? Outcome.FAIL : Outcome.UNKNOWN;
            pending.complete(Completion.failed(outcome, code, Ledger.NONE));
            throw CommandException.bookkeeper(code, outcome, "no ledger was created");
        }
    }

    private ObjectNode open(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        session.handles().requireFree(name);
        Ledger ledger = session.open(
                parameters.number("ledger"), parameters.flag("recovery") ? Flag.RECOVERY.code() : 0);
        session.handles().put(name, ledger);
        return reply()
                .put("ledger", ledger.id())
                .put("closed", ledger.handle().isClosed())
                .put("last_entry", ledger.lastEntry())
                .put("lac", ledger.told());
    }

    /** Closing a handle that only reads says nothing to anyone, and is not recorded. */
    private ObjectNode close(Parameters parameters) throws CommandException, InterruptedException {
        String name = parameters.text("handle");
        Ledger ledger = session.handles().get(name);
        Pending pending = ledger instanceof Writer
                ? session.history().begin(ledger.invocation(Kind.CLOSE, 0)) : null;
        try {
            closing(ledger).get();
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            if (pending != null) {
                pending.complete(Completion.failed(Outcome.UNKNOWN, code, ledger.id()));
            }
            throw CommandException.bookkeeper(code, Outcome.UNKNOWN, "ledger " + ledger.id() + " was not closed");
        }
        long last = ledger.lastEntry();
        if (pending != null) {
            pending.complete(Completion.ok(ledger.id()).telling(last, last));
            ledger.tell(last);
        }
        session.handles().remove(name);
        return reply().put("ledger", ledger.id()).put("last_entry", last);
    }

    private ObjectNode delete(Parameters parameters) throws CommandException, InterruptedException {
        long ledger = parameters.number("ledger");
        Pending pending = session.history().begin(Invocation.of(Kind.DELETE, 0, ledger));
        try {
            session.bookkeeper().newDeleteLedgerOp().withLedgerId(ledger).execute().get();
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            Outcome outcome = Refusals.ofDelete(code, ledger) ? Outcome.FAIL : Outcome.UNKNOWN;
            pending.complete(Completion.failed(outcome, code, ledger));
            throw CommandException.bookkeeper(code, outcome, "ledger " + ledger + " was not deleted");
        }
        pending.complete(Completion.ok(ledger));
        return reply().put("ledger", ledger);
    }

    private ObjectNode release(Parameters parameters) throws CommandException {
        String name = parameters.text("handle");
        Ledger ledger = session.handles().get(name);
        session.handles().remove(name);
        if (!(ledger instanceof Writer)) {
            closing(ledger); // it would follow the ledger's metadata for ever
        }
        return reply();
    }

    private static CompletableFuture<Void> closing(Ledger ledger) {
        return ledger.handle().closeAsync();
    }

    private static DigestType digest(String name) throws CommandException {
        try {
            return DigestType.valueOf(name);
        } catch (IllegalArgumentException e) {
            throw CommandException.badRequest("the digest " + name + " is not CRC32, CRC32C, MAC or DUMMY");
        }
    }

    private static Map<String, byte[]> metadata(JsonNode object) {
        Map<String, byte[]> metadata = new HashMap<>();
        object.fields().forEachRemaining(field ->
                metadata.put(field.getKey(), field.getValue().asText().getBytes(StandardCharsets.UTF_8)));
        return metadata;
    }

    private static ObjectNode reply() {
        return JsonNodeFactory.instance.objectNode();
    }
}
