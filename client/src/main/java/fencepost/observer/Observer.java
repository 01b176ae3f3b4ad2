package fencepost.observer;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import fencepost.history.Outcome;
import fencepost.ledgers.Errors;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.net.BookieId;
import org.apache.zookeeper.KeeperException;

/** The client that looks at what the others have left: metadata, what each bookie holds, what can be read. */
public final class Observer {
    private static final int BOOKIE_PORT = 3181;
    private static final int DEFAULT_OUTSTANDING = 64;
    private static final int DEFAULT_ATTEMPTS = 20;
    private static final double DEFAULT_TIMEOUT_S = 60;
    private static final int LEDGERS_AT_ONCE = 4;
    private static final double NS_PER_S = 1e9;

    private final Session session;
    private final AtomicBoolean watching = new AtomicBoolean();

    /** Observes through {@code session}. */
    public Observer(Session session) {
        this.session = session;
    }

    /** Follows the metadata of all ledgers from now on. */
    public ObjectNode watch() throws CommandException, InterruptedException {
        if (!watching.compareAndSet(false, true)) {
            throw CommandException.badRequest("the ledgers are being watched already");
        }
        try {
            int found = new MetadataWatch(session.zookeeper(), session.history()).start();
            return JsonNodeFactory.instance.objectNode().put("ledgers", found);
        } catch (IOException | KeeperException e) {
            watching.set(false);
            throw CommandException.bookkeeper(Errors.UNEXPECTED, Outcome.UNKNOWN, "no watch: " + e.getMessage());
        }
    }

    /** All ledgers with their metadata. */
    public ObjectNode ledgers() throws CommandException, InterruptedException {
        ObjectNode reply = JsonNodeFactory.instance.objectNode();
        ArrayNode all = reply.putArray("ledgers");
        try (MetadataStore store = MetadataStore.connect(session.zookeeper(), event -> { })) {
            store.ledgers().stream().mapToLong(path -> LedgerPaths.ledger(path).orElseThrow()).sorted()
                    .forEach(ledger -> metadata(ledger, all));
        } catch (IOException | KeeperException e) {
            throw CommandException.bookkeeper(Errors.UNEXPECTED, Outcome.UNKNOWN, "no list: " + e.getMessage());
        }
        return reply;
    }

    private void metadata(long ledger, ArrayNode all) {
        ObjectNode one = all.addObject().put("ledger", ledger);
        try {
            var versioned = session.bookkeeper().getLedgerManager().readLedgerMetadata(ledger).get();
            MetadataJson.write(versioned.getValue(), one);
        } catch (ExecutionException e) {
            one.put("error", Errors.name(Errors.code(e))).put("code", Errors.code(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Asks every named bookie for every named entry. */
    public ObjectNode census(Parameters parameters) throws CommandException, InterruptedException {
        int pass = parameters.count("pass", 1, 1);
        int outstanding = parameters.count("outstanding", 1, DEFAULT_OUTSTANDING);
        Map<String, List<Census.Range>> byBookie = new TreeMap<>();
        for (JsonNode ledger : parameters.array("ledgers")) {
            ranges(new Parameters(ledger), byBookie);
        }
        CensusCounts counts = new CensusCounts();
        List<Callable<Void>> work = new ArrayList<>();
        for (var entry : byBookie.entrySet()) {
            String bookie = entry.getKey();
            work.add(() -> {
                new Census(session, BookieId.parse(bookie + ":" + BOOKIE_PORT), number(bookie),
                        pass, outstanding, counts).ask(entry.getValue());
                return null;
            });
        }
        together(work, byBookie.size());
        return counts.into(JsonNodeFactory.instance.objectNode());
    }

    private void ranges(Parameters one, Map<String, List<Census.Range>> byBookie)
            throws CommandException, InterruptedException {
        long ledger = one.number("ledger");
        Census.Range range = new Census.Range(
                ledger, one.number("first"), one.number("last"), digest(ledger));
        for (JsonNode bookie : one.array("bookies")) {
            number(bookie.asText());
            byBookie.computeIfAbsent(bookie.asText(), name -> new ArrayList<>()).add(range);
        }
    }

    /** How the ledger's entries are secured; null when its metadata is gone. */
    private DigestType digest(long ledger) throws CommandException, InterruptedException {
        try {
            return session.bookkeeper().getLedgerManager().readLedgerMetadata(ledger).get()
                    .getValue().getDigestType();
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            if (code == BKException.Code.NoSuchLedgerExistsOnMetadataServerException) {
                return null;
            }
            throw CommandException.bookkeeper(
                    code, Outcome.UNKNOWN, "the metadata of ledger " + ledger + " cannot be read");
        }
    }

    private static int number(String bookie) throws CommandException {
        if (!bookie.matches("b[1-9][0-9]?")) {
            throw CommandException.badRequest("no bookie is named " + bookie);
        }
        return Integer.parseInt(bookie.substring(1));
    }

    /** Opens ledgers with recovery and reads them whole. */
    public ObjectNode finalReads(Parameters parameters, Command.Progress progress)
            throws CommandException, InterruptedException {
        long timeoutNs = (long) (parameters.real("timeout_s", DEFAULT_TIMEOUT_S) * NS_PER_S);
        int attempts = parameters.count("attempts", 1, DEFAULT_ATTEMPTS);
        FinalRead reader = new FinalRead(session, attempts, System.nanoTime() + timeoutNs);
        ObjectNode reply = JsonNodeFactory.instance.objectNode();
        ObjectNode results = reply.putObject("ledgers");
        List<Callable<Void>> work = new ArrayList<>();
        for (JsonNode ledger : parameters.array("ledgers")) {
            work.add(() -> {
                ObjectNode result = reader.read(ledger.longValue());
                synchronized (results) {
                    results.set(ledger.asText(), result);
                }
                progress.report(result.deepCopy().put("ledger", ledger.longValue()));
                return null;
            });
        }
        together(work, LEDGERS_AT_ONCE);
        return reply;
    }

    private static void together(List<Callable<Void>> work, int atOnce)
            throws CommandException, InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(Math.max(1, atOnce));
        try {
            for (Future<Void> done : threads.invokeAll(work)) {
                done.get();
            }
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException unchecked) {
                throw unchecked;
            }
            throw CommandException.bookkeeper(Errors.code(e), Outcome.UNKNOWN, String.valueOf(e.getCause()));
        } finally {
            threads.shutdownNow();
        }
    }
}
