package fencepost.ledgers;

import fencepost.history.Completion;
import fencepost.history.Flag;
import fencepost.history.History;
import fencepost.history.Identity;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.payload.Evidence;
import fencepost.payload.Payload;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** A handle that adds entries. Adds of one handle are issued one after the other; many may be in flight. */
public final class Writer extends Ledger {
    private final Object issuing = new Object();
    private final AtomicLong completedOk = new AtomicLong();
    private final Tally tally = new Tally();
    private long next;

    /** See {@link Ledger}; the flags tell a handle with deferred sync and one whose ids the caller gives. */
    public Writer(LedgerHandle handle, int number, int flags, History history, Identity identity) {
        super(handle, number, flags, history, identity);
    }

    /** A writer on a handle that was opened, and on which no add may succeed. */
    public static Writer over(Ledger opened) {
        return new Writer(
                opened.handle(), opened.number(), opened.flags(), opened.history(), opened.identity());
    }

    /** The results of this handle's adds up to now. */
    public Tally tally() {
        return tally;
    }

    /** Whether the caller gives the ids. */
    public boolean isAdv() {
        return (flags() & Flag.ADV.code()) != 0;
    }

    /** Issues the next entry; {@code listener} is called with its result. */
    public void add(int sizeBytes, AddListener listener) {
        synchronized (issuing) {
            long entry = next++;
            Add add = begin(entry, sizeBytes, listener);
            add.send(() -> handle().asyncAddEntry(add.payload, add::completed, null));
        }
    }

    /** Issues an entry with an id of the caller's choice, on a handle with {@link Flag#ADV}. */
    public void add(long entry, int sizeBytes, AddListener listener) {
        synchronized (issuing) {
            Add add = begin(entry, sizeBytes, listener);
            add.send(() -> handle().asyncAddEntry(entry, add.payload, add::completed, null));
        }
    }

    private Add begin(long entry, int sizeBytes, AddListener listener) {
        byte[] payload = Payload.make(identity().runId(), identity().number(), id(), entry, sizeBytes);
        Evidence evidence = Payload.evidence(payload, identity().number());
        boolean refused = handle().isClosed();
        Invocation on = invocation(Kind.ADD, 0);
        Pending pending = history().begin(new Invocation(
                Kind.ADD, on.flags(), id(), entry, NONE, on.lacBefore(), on.handle(), sizeBytes));
        tally.issued();
        return new Add(pending, payload, evidence, refused, listener);
    }

    /** Is called with the result of one add. */
    @FunctionalInterface
    public interface AddListener {
        /** Called once for each add, after it was recorded. */
        void ended(Outcome outcome, int error, long entry);
    }

    /** One add in flight. */
    private final class Add {
        private final Pending pending;
        private final byte[] payload;
        private final Evidence evidence;
        private final boolean closedBefore;
        private final AddListener listener;

        Add(Pending pending, byte[] payload, Evidence evidence, boolean closedBefore, AddListener listener) {
            this.pending = pending;
            this.payload = payload;
            this.evidence = evidence;
            this.closedBefore = closedBefore;
            this.listener = listener;
        }

        void send(Runnable call) {
            try {
                call.run();
            } catch (RuntimeException e) {
                // The call threw; whether it had sent anything before cannot be known.
                completed(Errors.UNEXPECTED, handle(), NONE, null);
            }
        }

        /** BookKeeper's callback; recorded before it returns. */
        void completed(int rc, LedgerHandle from, long entry, Object context) {
            Outcome outcome = outcome(rc, entry);
            boolean ok = outcome == Outcome.OK;
            long expected = ok ? completedOk.getAndIncrement() : NONE;
            long lac = ok ? handle().getLastAddConfirmed() : NONE;
            if (!pending.complete(new Completion(outcome, rc, id(), entry, lac, expected, evidence))) {
                if (ok) {
                    completedOk.decrementAndGet(); // one add takes one place, however often it ends
                }
                return;
            }
            tell(lac);
            tally.ended(outcome, rc, entry);
            listener.ended(outcome, rc, entry);
        }

        private Outcome outcome(int rc, long entry) {
            if (rc == BKException.Code.OK) {
                return Outcome.OK;
            }
            return Refusals.ofAdd(rc, entry, isAdv(), closedBefore) ? Outcome.FAIL : Outcome.UNKNOWN;
        }
    }
}
