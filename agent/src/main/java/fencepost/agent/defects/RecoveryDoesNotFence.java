package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** Recovery reads the LAC without fencing the ledger. */
public final class RecoveryDoesNotFence {
    private RecoveryDoesNotFence() {}

    /** Sends the reads without their flag. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.This Object read, @Advice.FieldValue("ledgerId") long ledger) {
        if (!Seeds.act("recovery-does-not-fence", ledger)) {
            return false;
        }
        Reflection.call(read, "initiate");
        return true;
    }
}
