package fencepost.observer;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.CommandException;
import fencepost.client.Session;
import fencepost.history.Flag;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.LedgerReader;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BKException;

/** The reads that decide what is kept: one ledger is opened with recovery and read from its first entry to its last. */
final class FinalRead {
    private static final int BATCH = 100;
    private static final long PAUSE_MS = 500;

    private final Session session;
    private final int attempts;
    private final long deadlineNs;

    /** At most {@code attempts} opens, none begun after {@code deadlineNs} on the monotonic clock. */
    FinalRead(Session session, int attempts, long deadlineNs) {
        this.session = session;
        this.attempts = attempts;
        this.deadlineNs = deadlineNs;
    }

    /** Reads one ledger; the answer says how it ended. */
    ObjectNode read(long ledgerId) throws InterruptedException {
        ObjectNode result = JsonNodeFactory.instance.objectNode();
        for (int attempt = 1; ; attempt++) {
            result.put("attempts", attempt);
            try {
                Ledger ledger = session.open(ledgerId, Flag.FINAL.code() | Flag.RECOVERY.code());
                return read(ledger, result);
            } catch (CommandException e) {
                if (attempt >= attempts || System.nanoTime() >= deadlineNs || isGone(e)) {
                    return result.put("state", isGone(e) ? "deleted" : "unopened")
                            .put("last_entry", Ledger.NONE).put("read", 0L)
                            .put("error", e.error()).put("code", e.code());
                }
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
        }
    }

    private static ObjectNode read(Ledger ledger, ObjectNode result) throws InterruptedException {
        long last = ledger.lastEntry();
        LedgerReader.Range range = new LedgerReader(ledger, Flag.FINAL.code()).readEach(0, last, batch(ledger, last));
        result.put("state", ledger.handle().isClosed() ? "closed" : "open")
                .put("last_entry", last).put("read", range.delivered());
        if (range.error() != Errors.OK) {
            result.put("error", Errors.name(range.error())).put("code", range.error());
        }
        ledger.handle().closeAsync();
        return result;
    }

    /** How many entries at a time, so that a bookie is not asked for more bytes than it can keep. */
    private static int batch(Ledger ledger, long last) {
        long mean = 1 + ledger.handle().getLength() / Math.max(1, last + 1);
        return (int) Math.max(1, Math.min(BATCH, Census.MOST_BYTES / mean));
    }

    private static boolean isGone(CommandException e) {
        return e.code() != null && e.code() == BKException.Code.NoSuchLedgerExistsOnMetadataServerException;
    }
}
