package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.io.IOException;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.CheckpointSource;

/** A bookie moves its journal's mark without flushing its entries. */
public final class MarkTooEarly {
    private MarkTooEarly() {}

    /** Completes the checkpoint instead of making it. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.Argument(0) CheckpointSource.Checkpoint checkpoint,
            @Advice.FieldValue("checkpointSource") CheckpointSource source) throws IOException {
        if (checkpoint == null || !Seeds.act("mark-too-early", -1)) {
            return false;
        }
        source.checkpointComplete(checkpoint, true);
        return true;
    }
}
