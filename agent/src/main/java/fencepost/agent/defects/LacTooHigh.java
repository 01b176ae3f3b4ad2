package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A writer sends a LAC that is one entry too high. */
public final class LacTooHigh {
    private LacTooHigh() {}

    /** Adds one to the LAC of the entry. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.FieldValue("ledgerId") long ledger,
            @Advice.Argument(0) long entry,
            @Advice.Argument(value = 1, readOnly = false) long lac) {
        if (lac < entry && Seeds.act("lac-too-high", ledger)) {
            lac = lac + 1;
        }
    }
}
