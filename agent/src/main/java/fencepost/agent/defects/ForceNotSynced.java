package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.proto.BookkeeperInternalCallbacks;

/** A bookie confirms that a ledger is synced without a sync. */
public final class ForceNotSynced {
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
        done.writeComplete(0, ledger, -1, null, context);
        return true;
    }
}
