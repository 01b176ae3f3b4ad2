package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** Replay of the journal leaves fences out. */
public final class ReplaySkipsFence {
    private ReplaySkipsFence() {}

    /** Leaves the ledger as it was. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.FieldValue("ledgerId") long ledger) {
        return Reflection.calledBy("org.apache.bookkeeper.bookie.BookieImpl", "readJournal")
                && Seeds.act("replay-skips-fence", ledger);
    }
}
