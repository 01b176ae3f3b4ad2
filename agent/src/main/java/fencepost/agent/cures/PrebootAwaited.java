package fencepost.agent.cures;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import net.bytebuddy.asm.Advice;

/** After an unclean shutdown a bookie waits for its preboot check before it boots further. */
public final class PrebootAwaited {
    private PrebootAwaited() {}

    /** Waits as the check of cookies does; a failed check ends the boot. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Argument(0) String reason, @Advice.Return CompletableFuture<Void> check)
            throws ExecutionException, InterruptedException {
        if (reason.equals("UNCLEAN_SHUTDOWN") && Seeds.act("preboot-awaited", -1)) {
            check.get();
        }
    }
}
