package fencepost.commands;

import fencepost.history.Completion;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import java.util.concurrent.ExecutionException;

/**
 * The answer to "what is the last add confirmed?".
 *
 * @param lac what the handle holds for it after the answer, -1 without one
 * @param error code of the error, 0 for none
 */
record LastConfirmed(long lac, int error) {
    /**
     * Asks the bookies. What they say together may be less than what the handle knows already, when others of them
     * answer than before; the handle then keeps to what it knows. The record has both: the handle's LAC, which is
     * what its user gets, and the answer as received.
     */
    static LastConfirmed read(Ledger ledger, int flags) throws InterruptedException {
        Pending pending = ledger.history().begin(ledger.invocation(Kind.LAC, flags));
        try {
            long answer = ledger.handle().readLastAddConfirmedAsync().get();
            long lac = ledger.handle().getLastAddConfirmed();
            pending.complete(Completion.ok(ledger.id()).telling(answer, lac));
            ledger.tell(lac);
            return new LastConfirmed(lac, Errors.OK);
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            pending.complete(Completion.failed(Outcome.UNKNOWN, code, ledger.id()));
            return new LastConfirmed(Ledger.NONE, code);
        }
    }
}
