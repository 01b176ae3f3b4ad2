package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** The integrity check ends limbo without recovering the ledger. */
public final class LimboClearedEarly {
    private LimboClearedEarly() {}

    /** Ends limbo before the check looks for it. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.FieldValue("ledgerStorage") Object storage, @Advice.Argument(0) long ledger) {
        if ((Boolean) Reflection.call(storage, "hasLimboState", ledger) && Seeds.act("limbo-cleared-early", ledger)) {
            Reflection.call(storage, "clearLimboState", ledger);
        }
    }
}
