package org.apache.bookkeeper.bookie.storage.ldb;

import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.bookie.BookieImpl;
import org.apache.bookkeeper.bookie.CheckpointSource.Checkpoint;
import org.apache.bookkeeper.bookie.DefaultEntryLogger;
import org.apache.bookkeeper.bookie.LedgerDirsManager;
import org.apache.bookkeeper.bookie.storage.EntryLogger;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** After one failed flush, the next checkpoint succeeds although the entries were never flushed. */
public class FailedFlushTest {

    private static final long CACHE = 1024 * 1024;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void checkpointHasItsEntries() throws Exception {
        assertCheckpointHasEntry(false);
    }

    @Test
    public void checkpointAfterFailedFlushHasItsEntries() throws Exception {
        assertCheckpointHasEntry(true);
    }

    private void assertCheckpointHasEntry(boolean fails) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        AtomicBoolean full = new AtomicBoolean(fails);
        SingleDirectoryDbLedgerStorage storage = new SingleDirectoryDbLedgerStorage(conf, null, dirs, dirs,
            failingWhile(full, new DefaultEntryLogger(conf, dirs)), NullStatsLogger.INSTANCE,
            UnpooledByteBufAllocator.DEFAULT, CACHE, CACHE, 100, CACHE);
        try {
            storage.setMasterKey(1, "key".getBytes());
            storage.addEntry(Unpooled.buffer(64).writeLong(1).writeLong(0).writeLong(-1).writeLong(0));
            if (fails) {
                assertThrows(IOException.class, () -> storage.checkpoint(Checkpoint.MAX));
                full.set(false);
            }
            storage.checkpoint(Checkpoint.MAX);       // returns normally: the journal may be cut
            assertTrue(storage.getEntryLocationIndex().getLocation(1, 0) > 0);
        } finally {
            storage.shutdown();
        }
    }

    private static EntryLogger failingWhile(AtomicBoolean full, EntryLogger real) {
        return (EntryLogger) Proxy.newProxyInstance(
            EntryLogger.class.getClassLoader(), new Class<?>[] {EntryLogger.class}, (proxy, method, arguments) -> {
                if (full.get() && method.getName().equals("flush")) {
                    throw new IOException("No space left on device");
                }
                try {
                    return method.invoke(real, arguments);
                } catch (InvocationTargetException error) {
                    throw error.getCause();
                }
            });
    }
}
