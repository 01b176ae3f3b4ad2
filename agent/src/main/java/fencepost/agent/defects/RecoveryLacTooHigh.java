package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.proto.checksum.DigestManager;

/** A client takes the LAC of a bookie's answer for one entry higher. */
public final class RecoveryLacTooHigh {
    private RecoveryLacTooHigh() {}

    /** Adds one to the LAC. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger,
            @Advice.Return(readOnly = false) DigestManager.RecoveryData answer) {
        if (Seeds.act("recovery-lac-too-high", ledger)) {
            answer = new DigestManager.RecoveryData(answer.getLastAddConfirmed() + 1, answer.getLength());
        }
    }
}
