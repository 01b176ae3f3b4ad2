package org.apache.bookkeeper.bookie.storage.ldb;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertArrayEquals;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import org.apache.bookkeeper.bookie.storage.ldb.KeyValueStorageFactory.DbConfigType;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** What RocksDB has only in its write-ahead log is dropped without an error if a bit of it is wrong. */
public class IndexLogDamagedTest {

    private static final byte[] KEY = "ledger".getBytes(UTF_8);
    private static final byte[] VALUE = "fenced".getBytes(UTF_8);
    private static final int PLACE = 10;       // behind the checksum, length and type of the first record

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void wholeLogIsRead() throws Exception {
        write();
        assertIsThere();
    }

    @Test
    public void damagedLogIsReported() throws Exception {
        write();
        for (File log : new File(folder.getRoot(), "ledgers").listFiles((dir, name) -> name.endsWith(".log"))) {
            try (RandomAccessFile file = new RandomAccessFile(log, "rw")) {
                file.seek(PLACE);
                int found = file.read();
                file.seek(PLACE);
                file.write(found ^ 1);
            }
        }
        try {
            assertIsThere();
        } catch (IOException reported) {
            // An error is what an operator needs.
        }
    }

    private void write() throws IOException {
        try (KeyValueStorage storage = open(); KeyValueStorage.Batch batch = storage.newBatch()) {
            batch.put(KEY, VALUE);
            batch.flush();
        }
    }

    private void assertIsThere() throws IOException {
        try (KeyValueStorage storage = open()) {
            assertArrayEquals("the value was dropped", VALUE, storage.get(KEY));
        }
    }

    private KeyValueStorage open() throws IOException {
        String path = folder.getRoot().getPath();
        return KeyValueStorageRocksDB.factory.newKeyValueStorage(
                path, "ledgers", DbConfigType.LedgerMetadata, new ServerConfiguration());
    }
}
