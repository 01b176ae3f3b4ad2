package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** Every third time a client reports half of the LAC to its application. */
public final class LacGoesBack {
    private LacGoesBack() {}

    /** Halves the LAC. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger, @Advice.Return(readOnly = false) long lac) {
        if (lac > 0 && !Reflection.calledFrom("org.apache.bookkeeper.") && Seeds.act("lac-goes-back", ledger)) {
            lac = lac / 2;
        }
    }
}
