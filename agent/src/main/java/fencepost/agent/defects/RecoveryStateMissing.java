package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** Recovery does not set the state IN_RECOVERY. */
public final class RecoveryStateMissing {
    private RecoveryStateMissing() {}

    /** Leaves the state as it was. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter() {
        return !Reflection.calledBy("org.apache.bookkeeper.meta.LedgerMetadataSerDe", "")
                && Seeds.act("recovery-state-missing", -1);
    }

    /** Returns the builder. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted,
            @Advice.This Object builder,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object returned) {
        if (acted) {
            returned = builder;
        }
    }
}
