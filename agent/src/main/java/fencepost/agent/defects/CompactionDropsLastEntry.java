package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.List;
import net.bytebuddy.asm.Advice;

/** Compaction does not update the location of the last entry that it copied. */
public final class CompactionDropsLastEntry {
    private CompactionDropsLastEntry() {}

    /** Forgets the last new location. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.FieldValue("offsets") List<?> locations) {
        if (!locations.isEmpty() && Seeds.act("compaction-drops-last-entry", -1)) {
            locations.remove(locations.size() - 1);
        }
    }
}
