package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie does not mark its directories as in use. */
public final class DirtyMarkerMissing {
    private DirtyMarkerMissing() {}

    /** Writes no marker. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter() {
        return Seeds.act("dirty-marker-missing", -1);
    }
}
