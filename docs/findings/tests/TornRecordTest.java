package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertEquals;

import java.io.File;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The replay of a journal takes a record of which only the first half was written. */
public class TornRecordTest {

    private static final int SIZE = 1000;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void wholeRecordIsReplayed() throws Exception {
        assertEquals(Collections.singletonList(SIZE), replayed(SIZE));
    }

    @Test
    public void tornRecordIsNotReplayed() throws Exception {
        assertEquals(Collections.emptyList(), replayed(SIZE / 2));
    }

    /** The sizes of the records that a replay takes, where a kill left these bytes of the only one. */
    private List<Integer> replayed(int written) throws Exception {
        File journal = BookieImpl.getCurrentDirectory(folder.newFolder("journal"));
        BookieImpl.checkDirectoryStructure(journal);
        new JournalChannel(journal, 1, 1024 * 1024, 65536, 512, false, JournalChannel.V5,
            new ServerConfiguration(), new DefaultFileChannelProvider()).close();
        try (RandomAccessFile file = new RandomAccessFile(new File(journal, "1.txn"), "rw")) {
            file.setLength(1024 * 1024);              // preallocated
            file.seek(JournalChannel.HEADER_SIZE);
            file.writeInt(SIZE);
            for (int at = 0; at < written; at++) {
                file.write(1);
            }
        }

        ServerConfiguration conf = new ServerConfiguration();
        File ledgers = folder.newFolder("ledgers");
        conf.setJournalDirName(journal.getParent());
        conf.setLedgerDirNames(new String[] {ledgers.getPath()});
        LedgerDirsManager dirs = new LedgerDirsManager(conf, conf.getLedgerDirs(), new DiskChecker(0.99f, 0.98f));
        List<Integer> replayed = new ArrayList<>();
        new Journal(0, journal, conf, dirs).scanJournal(
            1, 0, (version, offset, entry) -> replayed.add(entry.remaining()), false);
        return replayed;
    }
}
