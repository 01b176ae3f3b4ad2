package fencepost.observer;

import fencepost.client.Session;
import fencepost.history.Completion;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Proof;
import fencepost.ledgers.Errors;
import fencepost.payload.Evidence;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.FencepostAccess;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.proto.BookieClient;
import org.apache.bookkeeper.proto.BookieProtocol;

/**
 * Asks one bookie for entries, each by a plain read that neither fences nor recovers, so that the answer says what
 * this bookie alone would say to anybody. A bookie that times out on a whole window of reads is asked no more.
 *
 * <p>Entries are asked from the last to the first, for a plan or a user may let bookies read ahead: with an entry
 * that it reads from its disk, a bookie with DbLedgerStorage then takes those that follow in the entry log into its
 * cache ({@code fillReadAheadCache}), and serves also those that its index lacks.
 */
final class Census {
    /** Most bytes in flight: a bookie keeps answers that were not read yet in its direct memory, of which it dies. */
    static final long MOST_BYTES = 16L << 20;
    /** Most reads of a ledger in flight until the size of one of its entries is known. */
    private static final int AT_FIRST = 16;

    private final Session session;
    private final BookieClient client;
    private final BookieId bookie;
    private final int bookieNumber;
    private final int pass;
    private final int outstanding;
    private final Semaphore window;
    private final AtomicInteger timeouts = new AtomicInteger();
    private final AtomicInteger largest = new AtomicInteger();
    private volatile Range answered;
    private final CensusCounts counts;

    /**
     * A census of one bookie.
     *
     * @param bookieNumber its number in the run
     * @param pass number of the pass, from 1
     * @param outstanding most reads in flight
     * @param counts where the answers are counted
     */
    Census(Session session, BookieId bookie, int bookieNumber, int pass, int outstanding, CensusCounts counts) {
        this.session = session;
        this.client = FencepostAccess.bookies(session.bookkeeper());
        this.bookie = bookie;
        this.bookieNumber = bookieNumber;
        this.pass = pass;
        this.outstanding = outstanding;
        this.window = new Semaphore(outstanding);
        this.counts = counts;
    }

    /** Asks for all entries of all ranges and waits for the answers. */
    void ask(List<Range> ranges) throws InterruptedException {
        for (Range range : ranges) {
            for (long entry = range.last(); entry >= range.first(); entry--) {
                int places = places(range);
                window.acquire(places);
                if (timeouts.get() >= outstanding) {
                    window.release(places);
                    counts.skipped();
                } else {
                    ask(range, entry, places);
                }
            }
        }
        window.acquire(outstanding);
        window.release(outstanding);
    }

    /** How many places of the window a read takes: the more, the larger entries are. */
    private int places(Range range) {
        long size = range == answered ? largest.get() : Math.max(largest.get(), MOST_BYTES / AT_FIRST);
        return (int) Math.min(outstanding, 1 + size * outstanding / MOST_BYTES);
    }

    private void ask(Range range, long entry, int places) {
        long askedNs = System.nanoTime();
        try {
            client.readEntry(bookie, range.ledger(), entry,
                    (rc, ledger, id, stored, context) -> answered(range, entry, places, askedNs, rc, stored),
                    null, BookieProtocol.FLAG_NONE);
        } catch (RuntimeException e) {
            answered(range, entry, places, askedNs, BKException.Code.UnexpectedConditionException, null);
        }
    }

    /** Recorded as a whole when it is complete: an unanswered request is no evidence. */
    private void answered(Range range, long entry, int places, long askedNs, int code, ByteBuf stored) {
        try {
            Evidence evidence = code == Errors.OK
                    ? StoredEntry.verify(stored, range.digest(), session.identity().runId(), range.ledger(), entry)
                    : Evidence.NONE;
            session.history().record(
                    new Invocation(Kind.CENSUS, 0, range.ledger(), entry, pass, -1, bookieNumber,
                            evidence.sizeBytes()),
                    askedNs,
                    new Completion(outcome(code), code, range.ledger(), entry, -1, -1, evidence));
            note(code, evidence);
            largest.accumulateAndGet(evidence.sizeBytes(), Math::max);
            answered = range;
        } finally {
            window.release(places);
        }
    }

    private void note(int code, Evidence evidence) {
        boolean silent = code == BKException.Code.TimeoutException;
        timeouts.updateAndGet(count -> silent ? count + 1 : 0);
        counts.answered(code, evidence.proof() == Proof.PROVES_ITSELF);
    }

    /** Whether the bookie itself said this. Errors that the client makes up when there is no answer are unknown. */
    private static Outcome outcome(int code) {
        return switch (code) {
            case BKException.Code.TimeoutException, BKException.Code.BookieHandleNotAvailableException,
                    BKException.Code.ClientClosedException, BKException.Code.InterruptedException,
                    BKException.Code.UnexpectedConditionException -> Outcome.UNKNOWN;
            default -> Outcome.OK;
        };
    }

    /**
     * Entries of one ledger.
     *
     * @param first first id
     * @param last last id, included
     * @param digest how its entries are secured
     */
    record Range(long ledger, long first, long last, DigestType digest) {
    }
}
