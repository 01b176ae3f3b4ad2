package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie accepts ordinary adds to a ledger that is fenced. */
public final class FenceIgnored {
    private FenceIgnored() {}

    /** Answers that the ledger is not fenced. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger, @Advice.Return(readOnly = false) boolean fenced) {
        if (fenced && Seeds.act("fence-ignored", ledger)) {
            fenced = false;
        }
    }
}
