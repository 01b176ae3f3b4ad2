package org.apache.bookkeeper.bookie.storage.ldb;

import static org.junit.Assert.assertTrue;

import com.google.common.util.concurrent.MoreExecutors;
import io.github.merlimat.slog.Logger;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import org.apache.bookkeeper.bookie.BookieImpl;
import org.apache.bookkeeper.bookie.CheckpointSource.Checkpoint;
import org.apache.bookkeeper.bookie.LedgerDirsManager;
import org.apache.bookkeeper.bookie.storage.EntryLogger;
import org.apache.bookkeeper.bookie.storage.directentrylogger.DirectEntryLogger;
import org.apache.bookkeeper.common.util.nativeio.NativeIOImpl;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** With direct I/O the storage takes an entry that is larger than a write buffer, and can never flush it. */
public class DirectLargeEntryTest {

    private static final int MB = 1024 * 1024;
    private static final int WRITE_BUFFER = 4096;    // one of eight

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void entryThatFillsWriteBufferIsFlushed() throws Exception {
        assertEntryIsFlushed(WRITE_BUFFER - Integer.BYTES);
    }

    @Test
    public void entryLargerThanWriteBufferIsFlushed() throws Exception {
        assertEntryIsFlushed(WRITE_BUFFER);
    }

    private void assertEntryIsFlushed(int size) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        File current = BookieImpl.getCurrentDirectory(ledgers);
        BookieImpl.checkDirectoryStructure(current);
        ServerConfiguration conf = new ServerConfiguration();
        conf.setAllowLoopback(true);
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        int[] lastLog = {0};
        EntryLogger direct = new DirectEntryLogger(current, () -> ++lastLog[0], new NativeIOImpl(),
            UnpooledByteBufAllocator.DEFAULT, MoreExecutors.newDirectExecutorService(),
            MoreExecutors.newDirectExecutorService(), MB, conf.getNettyMaxFrameSizeBytes() - 500,
            8 * WRITE_BUFFER, MB, 64 * 1024, 1, 300, Logger.get(DirectLargeEntryTest.class),
            NullStatsLogger.INSTANCE);
        SingleDirectoryDbLedgerStorage storage = new SingleDirectoryDbLedgerStorage(conf, null, dirs, dirs,
            direct, NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT, MB, MB, 100, MB);
        try {
            storage.setMasterKey(1, "key".getBytes());
            ByteBuf entry = Unpooled.buffer(size).writeLong(1).writeLong(0).writeLong(-1).writeLong(0);
            storage.addEntry(entry.writeZero(size - entry.readableBytes()));    // is acknowledged
            storage.checkpoint(Checkpoint.MAX);
            assertTrue(storage.getEntryLocationIndex().getLocation(1, 0) > 0);
        } finally {
            storage.shutdown();
        }
    }
}
