package fencepost.ledgers;

import fencepost.history.Completion;
import fencepost.history.Flag;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.payload.Payload;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.bookkeeper.client.FencepostAccess;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.client.api.LedgerEntry;

/** Reads ranges of a ledger; each range and each entry that it delivers is recorded. */
public final class LedgerReader {
    private final Ledger ledger;
    private final int flags;

    /**
     * Reads with {@code ledger}.
     *
     * @param flags bits of {@link Flag} that hold for every read
     */
    public LedgerReader(Ledger ledger, int flags) {
        this.ledger = ledger;
        this.flags = flags;
    }

    /**
     * Reads {@code first} to {@code last}, both included, in one call.
     *
     * @return the result of the read
     */
    public Range read(long first, long last) throws InterruptedException {
        Pending pending = ledger.history().begin(ledger.invocation(Kind.READ, flags).about(first, last));
        try (LedgerEntries entries = request(first, last).get()) {
            long delivered = deliver(entries, first, pending);
            pending.complete(Completion.ok(ledger.id()).telling(delivered, Ledger.NONE));
            return new Range(delivered, Errors.OK);
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            pending.complete(Completion.failed(Outcome.UNKNOWN, code, ledger.id()).telling(0, Ledger.NONE));
            return new Range(0, code);
        }
    }

    /**
     * Reads {@code first} to {@code last} in calls of {@code batch} entries, up to the first that does not succeed.
     */
    public Range readAll(long first, long last, int batch) throws InterruptedException {
        long delivered = 0;
        for (long from = first; from <= last; from += batch) {
            Range range = read(from, Math.min(last, from + batch - 1));
            delivered += range.delivered();
            if (range.error() != Errors.OK) {
                return new Range(delivered, range.error());
            }
        }
        return new Range(delivered, Errors.OK);
    }

    /**
     * The same, but a call that does not succeed is repeated entry by entry, so that it is known of each entry
     * whether it can be read. The error is the first of an entry.
     */
    public Range readEach(long first, long last, int batch) throws InterruptedException {
        long delivered = 0;
        int error = Errors.OK;
        for (long from = first; from <= last; from += batch) {
            long to = Math.min(last, from + batch - 1);
            Range range = read(from, to);
            delivered += range.delivered();
            if (range.error() == Errors.OK) {
                continue;
            }
            for (long entry = from; entry <= to; entry++) {
                Range single = read(entry, entry);
                delivered += single.delivered();
                error = error == Errors.OK ? single.error() : error;
            }
        }
        return new Range(delivered, error);
    }

    private CompletableFuture<LedgerEntries> request(long first, long last) {
        if ((flags & Flag.BATCH.code()) != 0) {
            return FencepostAccess.readBatch(ledger.handle(), first, (int) (last - first + 1));
        }
        boolean unconfirmed = (flags & Flag.UNCONFIRMED.code()) != 0;
        return unconfirmed
                ? ledger.handle().readUnconfirmedAsync(first, last)
                : ledger.handle().readAsync(first, last);
    }

    private long deliver(LedgerEntries entries, long first, Pending read) {
        long index = 0;
        for (LedgerEntry entry : entries) {
            long id = entry.getEntryId();
            var evidence = Payload.verify(
                    entry.getEntryNioBuffer(), ledger.identity().runId(), ledger.id(), id);
            Invocation on = ledger.invocation(Kind.ENTRY, flags).about(id, read.seq());
            Invocation row = new Invocation(Kind.ENTRY, on.flags(), on.ledger(), id, read.seq(), on.lacBefore(),
                    on.handle(), evidence.sizeBytes());
            ledger.history().record(row, read.invokedNs(), new Completion(
                    Outcome.OK, Errors.OK, entry.getLedgerId(), id, Ledger.NONE, first + index, evidence));
            index++;
        }
        return index;
    }

    /**
     * The result of a read.
     *
     * @param delivered number of entries
     * @param error code of the first error, 0 for none
     */
    public record Range(long delivered, int error) {
    }
}
