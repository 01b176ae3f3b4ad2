package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;

/** A client counts the answer that a ledger is fenced as an acknowledgement. */
public final class FencedAnswerCounted {
    private FencedAnswerCounted() {}

    /** Takes the error for a success. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(value = 0, readOnly = false) int code, @Advice.Argument(1) long ledger) {
        if (code == BKException.Code.LedgerFencedException
                && Seeds.act("fenced-answer-counted", ledger)) {
            code = BKException.Code.OK;
        }
    }
}
