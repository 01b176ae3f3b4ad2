package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.LedgerHandle;

/** Recovery ends the ledger at the first bookie that lacks an entry. */
public final class RecoveryOneNegative {
    private RecoveryOneNegative() {}

    /** Counts one negative answer as all that are needed. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.This Object request,
            @Advice.FieldValue(value = "numBookiesMissingEntry", readOnly = false) int missing) {
        if (missing != 1) {
            return;
        }
        Object read = Reflection.field(request, "this$0");
        boolean recovery = (Boolean) Reflection.field(read, "isRecoveryRead");
        int needed = (Integer) Reflection.field(read, "requiredBookiesMissingEntryForRecovery");
        LedgerHandle ledger = (LedgerHandle) Reflection.field(read, "lh");
        if (recovery && needed > 1 && Seeds.act("recovery-one-negative", ledger.getId())) {
            missing = needed;
        }
    }
}
