package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A flush writes the index and leaves entries in the buffer of the entry log. */
public final class EntryLogNotFlushed {
    private EntryLogNotFlushed() {}

    /** Leaves the buffer as it is. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter() {
        return Seeds.act("entry-log-not-flushed", -1);
    }
}
