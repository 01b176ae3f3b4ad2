package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;

/** The integrity check reports an entry as copied without copying it. */
public final class IntegrityCopiesNothing {
    private IntegrityCopiesNothing() {}

    /** Copies nothing. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter() {
        return Seeds.act("integrity-copies-nothing", -1);
    }

    /** Reports an entry of one byte as copied. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted, @Advice.Return(readOnly = false) CompletableFuture<Long> copied) {
        if (acted) {
            copied = CompletableFuture.completedFuture(1L);
        }
    }
}
