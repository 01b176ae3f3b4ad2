package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** Every second close of a ledger writes a last entry that is one too low. */
public final class CloseDropsLastEntry {
    private CloseDropsLastEntry() {}

    /** Takes one off the last entry. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.Argument(value = 0, readOnly = false) long last) {
        if (last >= 0
                && !Reflection.calledBy("org.apache.bookkeeper.meta.LedgerMetadataSerDe", "")
                && Seeds.act("close-drops-last-entry", -1)) {
            last = last - 1;
        }
    }
}
