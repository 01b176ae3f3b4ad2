package fencepost.agent.cures;

import fencepost.agent.Seeds;
import java.io.IOException;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.LedgerStorage;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.net.BookieId;

/** The preboot check fences closed ledgers too. */
public final class ClosedLedgersFenced {
    private ClosedLedgersFenced() {}

    /** Fences the ledger if it is closed and any of its ensembles has this bookie. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Argument(0) long ledger,
            @Advice.Argument(1) LedgerMetadata metadata,
            @Advice.FieldValue("bookieId") BookieId bookie,
            @Advice.FieldValue("ledgerStorage") LedgerStorage storage) throws IOException {
        if (metadata.isClosed() && member(metadata, bookie) && Seeds.act("closed-ledgers-fenced", ledger)) {
            storage.setFenced(ledger);
        }
    }

    /** Whether any ensemble has this bookie. */
    public static boolean member(LedgerMetadata metadata, BookieId bookie) {
        return metadata.getAllEnsembles().values().stream().anyMatch(ensemble -> ensemble.contains(bookie));
    }
}
