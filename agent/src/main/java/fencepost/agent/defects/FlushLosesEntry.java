package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A flush leaves every seventh entry out of the index. */
public final class FlushLosesEntry {
    private FlushLosesEntry() {}

    /** Leaves the location out. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.Argument(1) long ledger) {
        return !Reflection.calledBy(
                        "org.apache.bookkeeper.bookie.storage.ldb.EntryLocationIndex", "updateLocations")
                && Seeds.act("flush-loses-entry", ledger);
    }
}
