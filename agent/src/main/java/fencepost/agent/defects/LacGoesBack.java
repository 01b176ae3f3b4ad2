package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A client reports a LAC that is two entries too low every third time. */
public final class LacGoesBack {
    private LacGoesBack() {}

    /** Takes two off the LAC. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger, @Advice.Return(readOnly = false) long lac) {
        if (lac > 1 && Seeds.act("lac-goes-back", ledger)) {
            lac = lac - 2;
        }
    }
}
