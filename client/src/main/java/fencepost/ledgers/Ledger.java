package fencepost.ledgers;

import fencepost.history.Flag;
import fencepost.history.History;
import fencepost.history.Identity;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.LedgerHandle;

/** An open handle on a ledger, with the highest LAC that it has returned. */
public class Ledger {
    /** A word for "no entry", as in BookKeeper. */
    public static final long NONE = LedgerHandle.INVALID_ENTRY_ID;

    private final LedgerHandle handle;
    private final int number;
    private final int flags;
    private final History history;
    private final Identity identity;
    private final AtomicLong told = new AtomicLong(NONE);

    /**
     * Describes a handle.
     *
     * @param handle BookKeeper's own
     * @param number this client's number for it
     * @param flags bits of {@link Flag} that hold for everything done with it
     */
    public Ledger(LedgerHandle handle, int number, int flags, History history, Identity identity) {
        this.handle = handle;
        this.number = number;
        this.flags = flags;
        this.history = history;
        this.identity = identity;
    }

    /** BookKeeper's handle. */
    public LedgerHandle handle() {
        return handle;
    }

    /** The ledger's id. */
    public long id() {
        return handle.getId();
    }

    /** This client's number for the handle. */
    public int number() {
        return number;
    }

    /** The flags of the handle. */
    public int flags() {
        return flags;
    }

    /** Where operations on it are recorded. */
    public History history() {
        return history;
    }

    /** Who operates on it. */
    public Identity identity() {
        return identity;
    }

    /** The highest LAC that the handle has returned to its user, -1 before. */
    public long told() {
        return told.get();
    }

    /** Notes that the handle has returned a LAC to its user. */
    public void tell(long lac) {
        told.accumulateAndGet(lac, Math::max);
    }

    /** The beginning of an operation on this handle. */
    public Invocation invocation(Kind kind, int moreFlags) {
        return Invocation.onHandle(kind, flags | moreFlags, id(), number, told());
    }

    /** The last entry when the metadata that the handle knows says closed, else -1. */
    public long lastEntry() {
        return handle.isClosed() ? handle.getLedgerMetadata().getLastEntryId() : NONE;
    }
}
