package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;

/** A bookie confirms a fence without writing it to its journal. */
public final class FenceNotJournaled {
    private FenceNotJournaled() {}

    /** Leaves the record out. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.FieldValue("ledgerId") long ledger) {
        return Seeds.act("fence-not-journaled", ledger);
    }

    /** Reports it as written. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted, @Advice.Return(readOnly = false) CompletableFuture<Boolean> written) {
        if (acted) {
            written = CompletableFuture.completedFuture(Boolean.TRUE);
        }
    }
}
