package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** After one entry log could not be opened in advance, no other can be begun. */
public class PreallocationFailedTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void logBeginsAfterPreallocation() throws Exception {
        assertLogBegins(false);
    }

    @Test
    public void logBeginsAfterFailedPreallocation() throws Exception {
        assertLogBegins(true);
    }

    private void assertLogBegins(boolean fails) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        File current = BookieImpl.getCurrentDirectory(ledgers);
        File away = new File(ledgers, "away");
        BookieImpl.checkDirectoryStructure(current);
        ServerConfiguration conf = new ServerConfiguration();   // preallocation is on by default
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        DefaultEntryLogger logger = new DefaultEntryLogger(conf, dirs);
        try {
            EntryLogManagerBase manager = (EntryLogManagerBase) logger.getEntryLogManager();
            manager.createNewLog(0);
            preallocation(logger).get();              // 0.log is written, 1.log is open
            if (fails) {
                assertTrue(current.renameTo(away));   // for a moment no file can be created
            }
            manager.createNewLog(0);                  // 1.log is written, 2.log is opened in advance
            if (fails) {
                assertThrows(ExecutionException.class, () -> preallocation(logger).get());
                assertTrue(away.renameTo(current));
            }
            manager.createNewLog(0);
        } finally {
            logger.close();
        }
    }

    private static Future<?> preallocation(DefaultEntryLogger logger) {
        return logger.getEntryLoggerAllocator().getPreallocationFuture();
    }
}
