package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.versioning.LongVersion;
import org.apache.bookkeeper.versioning.Version;

/** A client writes metadata whatever their version is. */
public final class MetadataCasIgnored {
    private MetadataCasIgnored() {}

    /** Writes without a condition. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(0) long ledger, @Advice.Argument(value = 2, readOnly = false) Version expected) {
        if (Seeds.act("metadata-cas-ignored", ledger)) {
            expected = new LongVersion(-1);
        }
    }
}
