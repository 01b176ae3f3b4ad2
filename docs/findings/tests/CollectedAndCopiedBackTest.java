package org.apache.bookkeeper.bookie.storage.ldb;

import static org.junit.Assert.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import org.apache.bookkeeper.bookie.BookieImpl;
import org.apache.bookkeeper.bookie.DefaultEntryLogger;
import org.apache.bookkeeper.bookie.LedgerDirsManager;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A flush drops the entries of a ledger that garbage collection removed and that was added again. */
public class CollectedAndCopiedBackTest {

    private static final long CACHE = 1024 * 1024;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void entryOfLedgerThatWasNotRemovedIsThere() throws Exception {
        assertThere(false);
    }

    @Test
    public void entryAddedAfterRemovalIsThere() throws Exception {
        assertThere(true);
    }

    private void assertThere(boolean removed) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        SingleDirectoryDbLedgerStorage storage = new SingleDirectoryDbLedgerStorage(conf, null, dirs, dirs,
            new DefaultEntryLogger(conf, dirs), NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT, CACHE,
            CACHE, 100, CACHE);
        try {
            storage.setMasterKey(1, "key".getBytes());
            storage.addEntry(entry());
            storage.flush();
            if (removed) {
                storage.deleteLedger(1);              // by garbage collection
                storage.getEntryLocationIndex().removeOffsetFromDeletedLedgers(); // else later, in a thread
            }
            storage.setMasterKey(1, "key".getBytes());
            storage.addEntry(entry());                // by autorecovery
            storage.flush();
            assertEquals(1, storage.getEntry(1, 0).readLong());
        } finally {
            storage.shutdown();
        }
    }

    private static ByteBuf entry() {
        return Unpooled.buffer(64).writeLong(1).writeLong(0).writeLong(-1).writeLong(0);
    }
}
