package org.apache.bookkeeper.bookie.storage.ldb;

import static org.junit.Assert.assertArrayEquals;

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

/** A ledger whose key is set twice between two checkpoints has another key after a restart. */
public class DamagedKeyTest {

    private static final byte[] KEY = "01234567890123456789".getBytes();
    private static final long CACHE = 1024 * 1024;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void keyThatWasSetOnceStays() throws Exception {
        assertKeyStays(1);
    }

    @Test
    public void keyThatWasSetTwiceStays() throws Exception {
        assertKeyStays(2);
    }

    private void assertKeyStays(int times) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        SingleDirectoryDbLedgerStorage storage = open(ledgers);
        for (int time = 0; time < times; time++) {
            storage.setMasterKey(1, KEY);
        }
        storage.addEntry(Unpooled.buffer(64).writeLong(1).writeLong(0).writeLong(-1).writeLong(0));
        storage.flush();
        storage.shutdown();

        SingleDirectoryDbLedgerStorage next = open(ledgers);
        try {
            assertArrayEquals(KEY, next.readMasterKey(1));
        } finally {
            next.shutdown();
        }
    }

    private static SingleDirectoryDbLedgerStorage open(File ledgers) throws Exception {
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        return new SingleDirectoryDbLedgerStorage(conf, null, dirs, dirs, new DefaultEntryLogger(conf, dirs),
            NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT, CACHE, CACHE, 100, CACHE);
    }
}
