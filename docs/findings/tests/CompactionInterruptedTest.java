package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertTrue;

import io.netty.buffer.Unpooled;
import java.io.File;
import org.apache.bookkeeper.bookie.storage.CompactionEntryLog;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A compaction takes an empty file of the name of its log for the log, and its entries are gone. */
public class CompactionInterruptedTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void compactedLogHasItsEntries() throws Exception {
        assertHasEntries("ff.log");
    }

    @Test
    public void compactedLogHasItsEntriesWhereRecoveryLeftAnEmptyFile() throws Exception {
        assertHasEntries("10.log");
    }

    private void assertHasEntries(String left) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        File current = BookieImpl.getCurrentDirectory(ledgers);
        BookieImpl.checkDirectoryStructure(current);
        ServerConfiguration conf = new ServerConfiguration();
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        DefaultEntryLogger logger = new DefaultEntryLogger(conf);
        assertTrue(new File(current, left).createNewFile());
        try {
            CompactionEntryLog log;
            do {
                log = logger.newCompactionLog(0);
                log.addEntry(1, Unpooled.buffer(64).writeLong(1).writeLong(0).writeLong(-1).writeLong(0));
                log.flush();
                log.markCompacted();
            } while (log.getDstLogId() < 16);
            log.makeAvailable();
            log.finalizeAndCleanup();
            assertTrue(new File(current, "10.log").length() > 0);
        } finally {
            logger.close();
        }
    }
}
