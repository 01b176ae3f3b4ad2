package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.File;
import java.io.RandomAccessFile;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** One damaged length ends the reading of an entry log without an error: the rest counts as not there. */
public class LengthDamagedTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void ledgersOfWholeLogAreInLog() throws Exception {
        assertInLog(0);
    }

    @Test
    public void ledgersBehindDamagedLengthAreInLog() throws Exception {
        assertInLog(1 << 16);
    }

    /** Flips these bits in the length of the first of two entries; the other is of ledger 2. */
    private void assertInLog(int flipped) throws Exception {
        File ledgers = folder.newFolder("ledgers");
        File current = BookieImpl.getCurrentDirectory(ledgers);
        BookieImpl.checkDirectoryStructure(current);
        ServerConfiguration conf = new ServerConfiguration();
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});

        DefaultEntryLogger writing = new DefaultEntryLogger(conf);
        long first = writing.addEntry(1, entry(1));
        writing.addEntry(2, entry(2));
        writing.flush();
        writing.close();                              // without a list of the ledgers at the end of the log

        long logId = first >> 32;
        File log = new File(current, Long.toHexString(logId) + ".log");
        try (RandomAccessFile file = new RandomAccessFile(log, "rw")) {
            long place = (int) first - Integer.BYTES;
            file.seek(place);
            int length = file.readInt();
            file.seek(place);
            file.writeInt(length ^ flipped);
        }

        DefaultEntryLogger next = new DefaultEntryLogger(conf);
        try {
            // garbage collection deletes a log that has no ledger of the metadata store
            assertTrue(next.getEntryLogMetadata(logId).containsLedger(2));
        } finally {
            next.close();
        }
    }

    private static ByteBuf entry(long ledger) {
        return Unpooled.buffer(1024).writeLong(ledger).writeLong(0).writeBytes(new byte[1000]);
    }
}
