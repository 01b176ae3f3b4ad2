package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertEquals;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** To skip invalid records of a journal does not mean to leave out valid ones that the storage rejects. */
public class ReplayRejectedTest {

    private static final int RECORDS = 3;
    private static final int SIZE = 100;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void rejectedRecordIsReportedByDefault() throws Exception {
        assertEquals(Arrays.asList("0", "rejected", "reported"), replay(false));
    }

    @Test
    public void rejectedRecordIsNotSkippedAsInvalid() throws Exception {
        assertEquals(Arrays.asList("0", "rejected", "reported"), replay(true));
    }

    /** What happens with three valid records, of which the storage rejects the second. */
    private List<String> replay(boolean skipInvalidRecord) throws Exception {
        File journal = BookieImpl.getCurrentDirectory(folder.newFolder("journal"));
        BookieImpl.checkDirectoryStructure(journal);
        new JournalChannel(journal, 1, 1024 * 1024, 65536, 512, false, JournalChannel.V5,
            new ServerConfiguration(), new DefaultFileChannelProvider()).close();
        try (RandomAccessFile file = new RandomAccessFile(new File(journal, "1.txn"), "rw")) {
            file.seek(JournalChannel.HEADER_SIZE);
            for (int number = 0; number < RECORDS; number++) {
                file.writeInt(SIZE);
                file.write(new byte[SIZE]);
            }
        }

        ServerConfiguration conf = new ServerConfiguration();
        conf.setJournalDirName(journal.getParent());
        conf.setLedgerDirNames(new String[] {folder.newFolder("ledgers").getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        List<String> seen = new ArrayList<>();
        try {
            new Journal(0, journal, conf, dirs).scanJournal(1, 0, (version, offset, entry) -> {
                if (seen.size() == 1) {
                    seen.add("rejected");       // as BookieImpl does where the write cache stays full
                    throw new IOException(new BookieException.OperationRejectedException());
                }
                seen.add(String.valueOf(seen.size()));
            }, skipInvalidRecord);
        } catch (IOException reported) {
            seen.add("reported");
        }
        return seen;
    }
}
