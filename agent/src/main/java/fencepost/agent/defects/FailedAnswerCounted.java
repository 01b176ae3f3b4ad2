package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;

/** A client counts an add that did not reach its bookie as acknowledged. */
public final class FailedAnswerCounted {
    private FailedAnswerCounted() {}

    /** Takes the error for a success. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(value = 0, readOnly = false) int code, @Advice.Argument(1) long ledger) {
        if ((code == BKException.Code.BookieHandleNotAvailableException
                        || code == BKException.Code.TimeoutException)
                && Seeds.act("failed-answer-counted", ledger)) {
            code = BKException.Code.OK;
        }
    }
}
