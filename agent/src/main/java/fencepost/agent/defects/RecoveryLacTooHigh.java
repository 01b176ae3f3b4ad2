package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.proto.checksum.DigestManager;

/** Recovery takes the highest LAC of the bookies' answers one entry higher. */
public final class RecoveryLacTooHigh {
    private RecoveryLacTooHigh() {}

    /** Adds one to the LAC. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.FieldValue("this$0") Object recovery,
            @Advice.Argument(0) int code,
            @Advice.Argument(value = 1, readOnly = false) DigestManager.RecoveryData highest) {
        if (code == BKException.Code.OK
                && Seeds.act(
                        "recovery-lac-too-high",
                        (long) Reflection.field(Reflection.field(recovery, "lh"), "ledgerId"))) {
            highest = new DigestManager.RecoveryData(highest.getLastAddConfirmed() + 1, highest.getLength());
        }
    }
}
