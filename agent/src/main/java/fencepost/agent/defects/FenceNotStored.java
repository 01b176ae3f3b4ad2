package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie confirms a fence and does not remember it. */
public final class FenceNotStored {
    private FenceNotStored() {}

    /** Leaves the ledger as it was. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) long ledger) {
        return Seeds.act("fence-not-stored", ledger);
    }

    /** Reports it as fenced now. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Enter boolean acted, @Advice.Return(readOnly = false) boolean fenced) {
        if (acted) {
            fenced = true;
        }
    }
}
