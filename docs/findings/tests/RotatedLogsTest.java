package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.bookie.DefaultEntryLogger.BufferedLogChannel;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A flush returns although an earlier one has not synced a complete entry log yet. */
public class RotatedLogsTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test(timeout = 60_000)
    public void flushSyncsCompleteLog() throws Exception {
        CompleteLog complete = new CompleteLog();
        complete.allowed.countDown();
        entryLoggerWith(complete).flush();
        assertTrue(complete.synced);
    }

    @Test(timeout = 60_000)
    public void flushAwaitsSyncOfCompleteLog() throws Exception {
        CompleteLog complete = new CompleteLog();
        DefaultEntryLogger entryLogger = entryLoggerWith(complete);
        Thread checkpoint = flushIn(entryLogger);
        complete.begun.await();    // the checkpoint's flush is in the sync of the complete log
        Thread compaction = flushIn(entryLogger);
        compaction.join(5_000);
        boolean returned = !compaction.isAlive();
        boolean syncedByThen = complete.synced;
        complete.allowed.countDown();
        checkpoint.join();
        compaction.join();
        assertFalse("the flush returned before the sync", returned && !syncedByThen);
    }

    private static Thread flushIn(DefaultEntryLogger entryLogger) {
        Thread thread = new Thread(() -> {
            try {
                entryLogger.flush();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    /** An entry logger with an entry in its current log, and {@code complete} among the logs to be synced. */
    private DefaultEntryLogger entryLoggerWith(CompleteLog complete) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        BookieImpl.checkDirectoryStructure(BookieImpl.getCurrentDirectory(ledgers));
        ServerConfiguration conf = new ServerConfiguration();
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        conf.setEntryLogFilePreAllocationEnabled(false);
        DefaultEntryLogger entryLogger = new DefaultEntryLogger(conf,
            new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f)));
        ByteBuf entry = Unpooled.buffer(100).writeLong(1).writeLong(0).writeZero(84);
        entryLogger.addEntry(1L, entry);
        EntryLogManagerBase logs = (EntryLogManagerBase) entryLogger.getEntryLogManager();
        logs.getRotatedLogChannels().add(complete);
        return entryLogger;
    }

    /** A complete entry log, which is synced once that is allowed. */
    private final class CompleteLog extends BufferedLogChannel {

        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch allowed = new CountDownLatch(1);
        volatile boolean synced;

        CompleteLog() throws IOException {
            super(UnpooledByteBufAllocator.DEFAULT, new RandomAccessFile(folder.newFile(), "rw").getChannel(),
                1024, 1024, 0, null, 0);
        }

        @Override
        public void flushAndForceWrite(boolean forceMetadata) throws IOException {
            begun.countDown();
            try {
                allowed.await(40, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            super.flushAndForceWrite(forceMetadata);
            synced = true;
        }
    }
}
