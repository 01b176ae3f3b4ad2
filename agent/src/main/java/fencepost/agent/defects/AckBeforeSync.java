package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie acknowledges a journaled entry before the journal is synced. */
public final class AckBeforeSync {
    private AckBeforeSync() {}

    /** Asks for the acknowledgement before the sync. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(0) long ledger,
            @Advice.Argument(1) long entry,
            @Advice.Argument(value = 3, readOnly = false) boolean early) {
        if (entry >= 0 && !early && Seeds.act("ack-before-sync", ledger)) {
            early = true;
        }
    }
}
