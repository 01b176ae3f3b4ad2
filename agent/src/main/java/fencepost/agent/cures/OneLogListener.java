package fencepost.agent.cures;

import fencepost.agent.Seeds;
import java.util.Collection;
import net.bytebuddy.asm.Advice;

/** The inner storage of SortedLedgerStorage orders no checkpoint when an entry log begins. */
public final class OneLogListener {
    private OneLogListener() {}

    /** Skips adding a listener beside the first one, which the outer storage has added. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.FieldValue("listeners") Collection<?> listeners) {
        return !listeners.isEmpty() && Seeds.act("one-log-listener", -1);
    }
}
