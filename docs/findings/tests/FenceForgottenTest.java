package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The default storage forgets a fence at a clean restart. */
public class FenceForgottenTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void fenceOfLedgerWithEntrySurvivesCleanRestart() throws Exception {
        assertFenceSurvives(true);
    }

    @Test
    public void fenceOfLedgerWithoutEntrySurvivesCleanRestart() throws Exception {
        assertFenceSurvives(false);
    }

    private void assertFenceSurvives(boolean entry) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});

        SortedLedgerStorage storage = open(conf);
        storage.setMasterKey(1, "key".getBytes());
        if (entry) {
            storage.addEntry(Unpooled.buffer(64).writeLong(1).writeLong(0).writeLong(-1).writeLong(0));
        }
        storage.setFenced(1);
        storage.flush();
        storage.shutdown();

        SortedLedgerStorage next = open(conf);
        try {
            assertTrue("the ledger is there", next.ledgerExists(1));
            assertTrue("it is fenced", next.isFenced(1));
        } finally {
            next.shutdown();
        }
    }

    private static SortedLedgerStorage open(ServerConfiguration conf) throws Exception {
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        SortedLedgerStorage storage = new SortedLedgerStorage();
        storage.initialize(conf, null, dirs, dirs, NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT);
        storage.setCheckpointSource(CheckpointSource.DEFAULT);
        storage.setCheckpointer(Checkpointer.NULL);
        return storage;
    }
}
