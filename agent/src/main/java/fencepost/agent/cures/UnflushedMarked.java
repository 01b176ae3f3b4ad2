package fencepost.agent.cures;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.util.List;
import net.bytebuddy.asm.Advice;

/** A shutdown that leaves entries unflushed is registered as unclean. */
public final class UnflushedMarked {
    private UnflushedMarked() {}

    /** Sets the marker again after the method has removed it. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("bookie") Object bookie,
            @Advice.FieldValue("uncleanShutdownDetection") Object detection) {
        if (unflushed(bookie) && Seeds.act("unflushed-marked", -1)) {
            Reflection.call(detection, "registerStartUp");
        }
    }

    /** Whether a write cache of this bookie holds entries. */
    public static boolean unflushed(Object bookie) {
        Object storage = Reflection.field(bookie, "ledgerStorage");
        for (Object one : (List<?>) Reflection.field(storage, "ledgerStorageList")) {
            for (String cache : List.of("writeCache", "writeCacheBeingFlushed")) {
                if (!(Boolean) Reflection.call(Reflection.field(one, cache), "isEmpty")) {
                    return true;
                }
            }
        }
        return false;
    }
}
