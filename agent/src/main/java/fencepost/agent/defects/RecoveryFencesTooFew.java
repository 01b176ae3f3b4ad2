package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** Recovery goes on before enough bookies have answered its fencing read. */
public final class RecoveryFencesTooFew {
    private RecoveryFencesTooFew() {}

    /** Reports the ensemble as covered. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Return(readOnly = false) boolean covered) {
        if (!covered
                && Reflection.calledBy("org.apache.bookkeeper.client.ReadLastConfirmedOp", "")
                && Seeds.act("recovery-fences-too-few", -1)) {
            covered = true;
        }
    }
}
