package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.BitSet;
import net.bytebuddy.asm.Advice;

/** A client acknowledges an add after one bookie too few. */
public final class AckQuorumMinusOne {
    private AckQuorumMinusOne() {}

    /** Counts one acknowledgement more than there are. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("ackSet") BitSet acknowledged,
            @Advice.FieldValue("ackQuorumSize") int quorum,
            @Advice.Return(readOnly = false) boolean complete) {
        if (!complete && acknowledged.cardinality() == quorum - 1 && Seeds.act("ack-quorum-minus-one", -1)) {
            complete = true;
        }
    }
}
