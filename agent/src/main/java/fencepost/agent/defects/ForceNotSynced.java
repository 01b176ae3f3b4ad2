package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks;

/** A bookie confirms that a ledger is synced without a sync. */
public final class ForceNotSynced {
    /** {@code BookieImpl.METAENTRY_ID_FORCE_LEDGER}: the server answers no callback with another entry. */
    private static final long FORCE_LEDGER = -0x4000;

    private ForceNotSynced() {}

    /** Confirms at once. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.Argument(0) long ledger,
            @Advice.Argument(1) BookkeeperInternalCallbacks.WriteCallback done,
            @Advice.Argument(2) Object context) {
        if (!Seeds.act("force-not-synced", ledger)) {
            return false;
        }
        done.writeComplete(0, ledger, FORCE_LEDGER, null, context);
        return true;
    }
}
