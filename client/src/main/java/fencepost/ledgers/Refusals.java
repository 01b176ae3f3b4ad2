package fencepost.ledgers;

import org.apache.bookkeeper.client.BKException;

/**
 * Which errors prove that an operation had no effect: an allow-list. Everything that is not listed may have left
 * this process, and its outcome is unknown.
 */
public final class Refusals {
    private Refusals() {
    }

    /**
     * Whether an add was refused at the call.
     *
     * <p>A handle gives an add its id in the same step in which it finds itself writable, and queues it under that
     * id. So {@code LedgerClosed} without an id is an add that was turned away before, while the adds that a
     * closing handle drains from its queue come back with theirs. A handle whose ids the caller gives answers both
     * with the id; there only metadata that was closed before the call is proof. {@code DuplicateEntryId} is found
     * by looking into the queue, before anything is sent. {@code IllegalOp} is what a handle that was opened
     * answers at once ({@code ReadOnlyLedgerHandle#asyncAddEntry}).
     *
     * @param entry the id in the callback
     * @param adv whether the caller gives the ids
     * @param closedBefore whether the handle's metadata was closed before the call
     */
    public static boolean ofAdd(int code, long entry, boolean adv, boolean closedBefore) {
        return switch (code) {
            case BKException.Code.LedgerClosedException -> closedBefore || !adv && entry == Ledger.NONE;
            case BKException.Code.DuplicateEntryIdException -> adv;
            case BKException.Code.IllegalOpException -> entry == Ledger.NONE;
            default -> false;
        };
    }

    /** Whether a create was refused for quorums that no ledger can have. */
    public static boolean ofCreate(int code, int ensemble, int writeQuorum, int ackQuorum) {
        boolean impossible = writeQuorum > ensemble || ackQuorum > writeQuorum || ackQuorum <= 0;
        return code == BKException.Code.IncorrectParameterException && impossible;
    }

    /** Whether a delete was refused for an id that no ledger can have. */
    public static boolean ofDelete(int code, long ledger) {
        return code == BKException.Code.IncorrectParameterException && ledger < 0;
    }

    /** Whether a force was refused because the handle's metadata was closed before the call. */
    public static boolean ofForce(int code, boolean closedBefore) {
        return code == BKException.Code.LedgerClosedException && closedBefore;
    }
}
