package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** With more ledgers than open index files, a ledger of which nothing was flushed loses its LAC. */
public class EvictedIndexTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void ledgerWithOpenIndexIsThere() throws Exception {
        assertThere(20);
    }

    @Test
    public void ledgerWithEvictedIndexIsThere() throws Exception {
        assertThere(1);
    }

    private void assertThere(int openFiles) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setOpenFileLimit(openFiles);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        SortedLedgerStorage storage = new SortedLedgerStorage();
        storage.initialize(conf, null, dirs, dirs, NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT);
        storage.setCheckpointSource(CheckpointSource.DEFAULT);
        storage.setCheckpointer(Checkpointer.NULL);
        try {
            for (long ledger = 1; ledger <= 3; ledger++) {
                storage.setMasterKey(ledger, new byte[0]);
                storage.addEntry(Unpooled.buffer(64).writeLong(ledger).writeLong(0).writeLong(-1).writeLong(0));
            }
            assertNotNull(storage.getEntry(1, 0));
            assertEquals(-1, storage.getLastAddConfirmed(1));
        } finally {
            storage.shutdown();
        }
    }
}
