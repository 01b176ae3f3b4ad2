package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** After an unclean shutdown a bookie does not fence its open ledgers. */
public final class PrebootDoesNotFence {
    private PrebootDoesNotFence() {}

    /** Leaves the ledger as it was. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(0) long ledger) {
        return Reflection.calledBy("org.apache.bookkeeper.bookie.datainteg.DataIntegrityCheckImpl", "processPreBoot")
                && Seeds.act("preboot-does-not-fence", ledger);
    }
}
