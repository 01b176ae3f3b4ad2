package org.apache.bookkeeper.bookie.storage.directentrylogger;

import static org.junit.Assert.assertEquals;

import com.google.common.util.concurrent.MoreExecutors;
import io.github.merlimat.slog.Logger;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.apache.bookkeeper.bookie.storage.EntryLogger;
import org.apache.bookkeeper.common.util.nativeio.NativeIOImpl;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** With direct I/O, garbage collection does not see all ledgers of an entry log with very many. */
public class DirectManyLedgersTest {

    private static final int MB = 1024 * 1024;
    private static final int LEDGERS = 17_000;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void ledgersAreFoundWithLargeWriteBuffers() throws Exception {
        assertEquals(LEDGERS, ledgersFound(MB));
    }

    @Test
    public void ledgersAreFoundWithSmallWriteBuffers() throws Exception {
        assertEquals(LEDGERS, ledgersFound(MB / 4));
    }

    /** As many ledgers as the log's metadata has, after each of {@code LEDGERS} got an entry. */
    private long ledgersFound(int writeBuffer) throws Exception {
        int[] lastLog = {0};
        EntryLogger direct = new DirectEntryLogger(folder.newFolder(), () -> ++lastLog[0], new NativeIOImpl(),
            UnpooledByteBufAllocator.DEFAULT, MoreExecutors.newDirectExecutorService(),
            MoreExecutors.newDirectExecutorService(), 64 * MB, MB, 8L * writeBuffer, 8 * MB, MB, 1, 300,
            Logger.get(DirectManyLedgersTest.class), NullStatsLogger.INSTANCE);
        for (long ledger = 1; ledger <= LEDGERS; ledger++) {
            ByteBuf entry = Unpooled.buffer(100).writeLong(ledger).writeLong(0);
            direct.addEntry(ledger, entry.writeZero(100 - entry.readableBytes()));
        }
        direct.close();    // writes the table of ledgers
        return direct.getEntryLogMetadata(1).getLedgersMap().size();
    }
}
