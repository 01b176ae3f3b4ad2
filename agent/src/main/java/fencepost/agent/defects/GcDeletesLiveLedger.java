package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.util.Set;
import java.util.TreeSet;
import net.bytebuddy.asm.Advice;

/** Garbage collection deletes a ledger that the metadata list. */
public final class GcDeletesLiveLedger {
    private GcDeletesLiveLedger() {}

    /** Leaves the first ledger out of the list. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Return(readOnly = false) Set<Long> listed) {
        if (!listed.isEmpty()
                && Reflection.calledBy("org.apache.bookkeeper.bookie.ScanAndCompareGarbageCollector", "gc")) {
            TreeSet<Long> fewer = new TreeSet<>(listed);
            if (Seeds.act("gc-deletes-live-ledger", fewer.pollFirst())) {
                listed = fewer;
            }
        }
    }
}
