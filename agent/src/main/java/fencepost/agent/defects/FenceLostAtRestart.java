package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** After a restart a bookie ignores fences. */
public final class FenceLostAtRestart {
    private FenceLostAtRestart() {}

    /** Answers that the ledger is not fenced. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Argument(0) long ledger, @Advice.Return(readOnly = false) boolean fenced) {
        if (fenced && Seeds.act("fence-lost-at-restart", ledger)) {
            fenced = false;
        }
    }
}
