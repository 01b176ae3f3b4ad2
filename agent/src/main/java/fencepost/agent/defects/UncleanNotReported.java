package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie takes an unclean shutdown for a clean one. */
public final class UncleanNotReported {
    private UncleanNotReported() {}

    /** Answers that the last shutdown was clean. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Return(readOnly = false) boolean unclean) {
        if (unclean && Seeds.act("unclean-not-reported", -1)) {
            unclean = false;
        }
    }
}
