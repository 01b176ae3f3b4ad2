package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;

/** A client does not check the digest of an entry. */
public final class DigestNotChecked {
    private DigestNotChecked() {}

    /** Accepts what the check refuses. */
    @Advice.OnMethodExit(onThrowable = BKException.BKDigestMatchException.class)
    public static void exit(
            @Advice.FieldValue("ledgerId") long ledger, @Advice.Thrown(readOnly = false) Throwable refusal) {
        if (refusal != null && Seeds.act("digest-not-checked", ledger)) {
            refusal = null;
        }
    }
}
