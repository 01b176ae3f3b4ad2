package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

/** The integrity check reports a ledger as complete without looking at its entries. */
public final class IntegritySkipsLedger {
    private IntegritySkipsLedger() {}

    /** Looks at nothing. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) long ledger) {
        return Seeds.act("integrity-skips-ledger", ledger);
    }

    /** Reports the ledger as complete. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted,
            @Advice.Argument(0) long ledger,
            @Advice.Return(readOnly = false, typing = Assigner.Typing.DYNAMIC) Object checked) {
        if (acted) {
            checked = Reflection.single(ledger);
        }
    }
}
