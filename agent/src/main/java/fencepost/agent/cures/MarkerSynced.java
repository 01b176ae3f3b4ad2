package fencepost.agent.cures;

import fencepost.agent.Seeds;
import fencepost.agent.Syncing;
import java.io.File;
import java.io.IOException;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.LedgerDirsManager;

/** A bookie syncs the marker of an unclean shutdown before it serves. */
public final class MarkerSynced {
    private MarkerSynced() {}

    /** Syncs the directories that have the marker now. */
    @Advice.OnMethodExit
    public static void exit(@Advice.FieldValue("ledgerDirsManager") LedgerDirsManager directories)
            throws IOException {
        if (Seeds.act("marker-synced", -1)) {
            for (File directory : directories.getAllLedgerDirs()) {
                Syncing.sync(directory);
            }
        }
    }
}
