package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** After an unclean shutdown a bookie does not put a ledger into limbo. */
public final class LimboNotMarked {
    private LimboNotMarked() {}

    /** Leaves the ledger out of limbo. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) long ledger) {
        return Seeds.act("limbo-not-marked", ledger);
    }
}
