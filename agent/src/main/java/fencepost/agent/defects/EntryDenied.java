package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.Bookie;

/** A bookie answers every fourth read with the claim that it lacks the entry. */
public final class EntryDenied {
    private EntryDenied() {}

    /** Denies the entry. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.FieldValue("ledgerId") long ledger, @Advice.Argument(0) long entry)
            throws Bookie.NoEntryException {
        if (entry >= 0 && Seeds.act("entry-denied", ledger)) {
            throw new Bookie.NoEntryException(ledger, entry);
        }
    }
}
