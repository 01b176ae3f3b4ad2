package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** Recovery takes a read that failed for the end of the ledger. */
public final class RecoveryEndsAtError {
    private RecoveryEndsAtError() {}

    /** Takes any error for a missing entry. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(value = 0, readOnly = false) int code, @Advice.Argument(1) LedgerHandle ledger) {
        if (code != BKException.Code.OK
                && code != BKException.Code.NoSuchEntryException
                && code != BKException.Code.NoSuchLedgerExistsException
                && Seeds.act("recovery-ends-at-error", ledger.getId())) {
            code = BKException.Code.NoSuchEntryException;
        }
    }
}
