package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;

/** The auditor does not mark a ledger of a lost bookie as underreplicated. */
public final class AuditorSkipsLedger {
    private AuditorSkipsLedger() {}

    /** Leaves the ledger out. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) long ledger) {
        return Seeds.act("auditor-skips-ledger", ledger);
    }

    /** Reports it as marked. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted, @Advice.Return(readOnly = false) CompletableFuture<Void> marked) {
        if (acted) {
            marked = CompletableFuture.completedFuture(null);
        }
    }
}
