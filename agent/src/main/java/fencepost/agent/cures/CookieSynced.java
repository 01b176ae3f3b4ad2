package fencepost.agent.cures;

import fencepost.agent.Seeds;
import fencepost.agent.Syncing;
import java.io.File;
import java.io.IOException;
import net.bytebuddy.asm.Advice;

/** A bookie syncs the file of its cookie and the directory that names it. */
public final class CookieSynced {
    private CookieSynced() {}

    /** Syncs the written file. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Argument(0) File cookie) throws IOException {
        if (Seeds.act("cookie-synced", -1)) {
            Syncing.sync(cookie);
            Syncing.sync(cookie.getParentFile());
        }
    }
}
