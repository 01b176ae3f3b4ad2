package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A replication worker marks a ledger as repaired without looking at it. */
public final class RepairMarksTooEarly {
    private RepairMarksTooEarly() {}

    /** Removes the mark. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.FieldValue("underreplicationManager") Object marks, @Advice.Argument(0) long ledger) {
        if (!Seeds.act("repair-marks-too-early", ledger)) {
            return false;
        }
        Reflection.call(marks, "markLedgerReplicated", ledger);
        return true;
    }

    /** Reports the ledger as repaired. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Enter boolean acted, @Advice.Return(readOnly = false) boolean repaired) {
        if (acted) {
            repaired = true;
        }
    }
}
