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
    private final Session session;
    private final BookieClient client;
    private final BookieId bookie;
    private final int bookieNumber;
    private final int pass;
    private final int outstanding;
    private final Semaphore window;
    private final AtomicInteger timeouts = new AtomicInteger();
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
                window.acquire();
                if (timeouts.get() >= outstanding) {
                    window.release();
                    counts.skipped();
                } else {
                    ask(range, entry);
                }
            }
        }
        window.acquire(outstanding);
        window.release(outstanding);
    }

    private void ask(Range range, long entry) {
        long askedNs = System.nanoTime();
        try {
            client.readEntry(bookie, range.ledger(), entry,
                    (rc, ledger, id, stored, context) -> answered(range, entry, askedNs, rc, stored),
                    null, BookieProtocol.FLAG_NONE);
        } catch (RuntimeException e) {
            answered(range, entry, askedNs, BKException.Code.UnexpectedConditionException, null);
        }
    }

    /** Recorded as a whole when it is complete: an unanswered request is no evidence. */
    private void answered(Range range, long entry, long askedNs, int code, ByteBuf stored) {
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
        } finally {
            window.release();
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
