package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie does not sync its journal. */
public final class JournalNotSynced {
    private JournalNotSynced() {}

    /** Leaves the sync out. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter() {
        return Seeds.act("journal-not-synced", -1);
    }
}
