package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;

/** A bookie confirms a fence before it is in the journal. */
public final class FenceAnsweredEarly {
    private FenceAnsweredEarly() {}

    /** Reports the record as written while it waits for the journal. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger,
            @Advice.Return(readOnly = false) CompletableFuture<Boolean> written) {
        if (!written.isDone() && Seeds.act("fence-answered-early", ledger)) {
            written = CompletableFuture.completedFuture(Boolean.TRUE);
        }
    }
}
