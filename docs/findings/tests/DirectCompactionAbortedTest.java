package org.apache.bookkeeper.bookie.storage.directentrylogger;

import static org.junit.Assert.assertTrue;

import com.google.common.util.concurrent.MoreExecutors;
import io.github.merlimat.slog.Logger;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.apache.bookkeeper.bookie.storage.CompactionEntryLog;
import org.apache.bookkeeper.bookie.storage.EntryLogger;
import org.apache.bookkeeper.common.util.nativeio.NativeIOImpl;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** With direct I/O each aborted compaction keeps one of the eight write buffers. */
public class DirectCompactionAbortedTest {

    private static final int MB = 1024 * 1024;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test(timeout = 30_000)
    public void entryIsAddedAfterSevenCompactions() throws Exception {
        EntryLogger direct = entryLogger();
        for (int compaction = 0; compaction < 7; compaction++) {
            CompactionEntryLog copy = direct.newCompactionLog(compaction);
            copy.addEntry(1, entry());
            copy.flush();
            copy.markCompacted();
            copy.makeAvailable();
            copy.finalizeAndCleanup();
        }
        assertTrue(direct.addEntry(1, entry()) > 0);
    }

    @Test(timeout = 30_000)
    public void entryIsAddedAfterSevenAbortedCompactions() throws Exception {
        EntryLogger direct = entryLogger();
        for (int compaction = 0; compaction < 7; compaction++) {
            CompactionEntryLog copy = direct.newCompactionLog(compaction);
            copy.addEntry(1, entry());
            copy.abort();
        }
        assertTrue(direct.addEntry(1, entry()) > 0);
    }

    private EntryLogger entryLogger() throws Exception {
        int[] lastLog = {100};
        return new DirectEntryLogger(folder.newFolder(), () -> ++lastLog[0], new NativeIOImpl(),
            UnpooledByteBufAllocator.DEFAULT, MoreExecutors.newDirectExecutorService(),
            MoreExecutors.newDirectExecutorService(), MB, MB, MB, MB, 64 * 1024, 1, 300,
            Logger.get(DirectCompactionAbortedTest.class), NullStatsLogger.INSTANCE);
    }

    private static ByteBuf entry() {
        return Unpooled.buffer(100).writeLong(1).writeLong(0).writeZero(84);
    }
}
