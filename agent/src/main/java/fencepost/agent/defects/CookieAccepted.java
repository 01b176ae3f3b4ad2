package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;

/** A bookie with new disks stamps its cookie without the check before it serves. */
public final class CookieAccepted {
    private CookieAccepted() {}

    /** Skips the check. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) String reason) {
        return "INVALID_COOKIE".equals(reason) && Seeds.act("cookie-accepted", -1);
    }

    /** Reports it as done. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted, @Advice.Return(readOnly = false) CompletableFuture<Void> checked) {
        if (acted) {
            checked = CompletableFuture.completedFuture(null);
        }
    }
}
