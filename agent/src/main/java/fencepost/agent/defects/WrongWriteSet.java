package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A client sends the last copy of every fifth entry to a bookie outside its write set. */
public final class WrongWriteSet {
    private WrongWriteSet() {}

    /** Names the bookie after the write set in place of its last one. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.FieldValue("writeQuorumSize") int copies,
            @Advice.FieldValue("ensembleSize") int bookies,
            @Advice.Argument(0) long entry,
            @Advice.Argument(1) int copy,
            @Advice.Return(readOnly = false) int bookie) {
        if (copies < bookies && copy == copies - 1 && entry % 5 == 4 && Seeds.act("wrong-write-set", -1)) {
            bookie = (bookie + 1) % bookies;
        }
    }
}
