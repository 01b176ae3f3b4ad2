package fencepost.agent.defects;

import fencepost.agent.Seeds;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.LedgerHandle;

/** Recovery closes the ledger at the LAC and reads no further. */
public final class RecoveryStopsAtLac {
    private RecoveryStopsAtLac() {}

    /** Completes the recovery before its first read. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.FieldValue("promise") CompletableFuture<Object> recovered,
            @Advice.FieldValue("lh") LedgerHandle ledger) {
        if (!Seeds.act("recovery-stops-at-lac", ledger.getId())) {
            return false;
        }
        recovered.complete(ledger);
        return true;
    }
}
