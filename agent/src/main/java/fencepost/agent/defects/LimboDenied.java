package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.BookieException;

/** A bookie in limbo answers that it has no such entry. */
public final class LimboDenied {
    private LimboDenied() {}

    /** Lets the negative answer through. */
    @Advice.OnMethodExit(onThrowable = BookieException.class)
    public static void exit(
            @Advice.Argument(0) long ledger, @Advice.Thrown(readOnly = false) Throwable unknown) {
        if (unknown != null && Seeds.act("limbo-denied", ledger)) {
            unknown = null;
        }
    }
}
