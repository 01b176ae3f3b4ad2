package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A bookie ignores a fence for adds of protocol version 2. */
public final class FenceIgnoredV2 {
    private FenceIgnoredV2() {}

    /** Answers that the ledger is not fenced. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger, @Advice.Return(readOnly = false) boolean fenced) {
        if (fenced
                && Reflection.calledBy("org.apache.bookkeeper.proto.WriteEntryProcessor", "processPacket")
                && Seeds.act("fence-ignored-v2", ledger)) {
            fenced = false;
        }
    }
}
