package fencepost.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fencepost.payload.Evidence;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileHistoryTest {
    private static final Identity WRITER = new Identity("writer", 101, 3, -2L);

    @TempDir
    Path folder;

    @Test
    void theHeaderSaysWhoseHistoryItIs() throws IOException {
        open().close();
        ByteBuffer header = new HistoryFile(folder.resolve("writer-003-000001.hist")).header();
        byte[] magic = new byte[8];
        header.get(0, magic);
        byte[] name = new byte[6];
        header.get(40, name);
        assertEquals("FPHIST1\n", new String(magic, StandardCharsets.US_ASCII));
        assertEquals(1, header.getInt(8));
        assertEquals(128, header.getInt(12));
        assertEquals(-2L, header.getLong(16));
        assertEquals((3L << 40) + 1, header.getLong(24));
        assertEquals(101, header.getInt(32));
        assertEquals(65_536, header.getInt(36));
        assertEquals("writer", new String(name, StandardCharsets.US_ASCII));
        assertTrue(HistoryFile.isSound(header));
    }

    @Test
    void everyFieldLiesWhereTheFormatSays() throws IOException {
        try (FileHistory history = open()) {
            Pending pending = history.begin(new Invocation(Kind.ADD, 33, 5, 6, 7, 8, 9, 10));
            pending.complete(new Completion(
                    Outcome.UNKNOWN, -101, 11, 12, 13, 14, new Evidence(Proof.FOREIGN, 15, 16, 10)));
        }
        HistoryFile file = HistoryFile.all(folder).get(0);
        ByteBuffer invoked = file.invoked(0);
        assertEquals((3L << 40) + 1, invoked.getLong(0));
        assertTrue(invoked.getLong(8) > 0);
        assertEquals(List.of(5L, 6L, 7L, 8L), longs(invoked, 16, 4));
        assertEquals(9, invoked.getInt(48));
        assertEquals(10, invoked.getInt(52));
        assertEquals(2, invoked.get(56));
        assertEquals(33, invoked.get(57));
        assertTrue(HistoryFile.isSound(invoked));
        ByteBuffer completed = file.completed(0);
        assertTrue(completed.getLong(0) >= invoked.getLong(8));
        assertEquals(List.of(11L, 12L, 13L, 14L, 15L), longs(completed, 8, 5));
        assertEquals(-101, completed.getInt(48));
        assertEquals(16, completed.getInt(52));
        assertEquals(3, completed.get(56));
        assertEquals(3, completed.get(57));
        assertTrue(HistoryFile.isSound(completed));
    }

    @Test
    void theInvocationIsOnTheDiskBeforeTheOutcome() throws IOException {
        try (FileHistory history = open()) {
            history.begin(Invocation.of(Kind.DELETE, 0, 4));
            HistoryFile file = HistoryFile.all(folder).get(0);
            assertTrue(HistoryFile.isSound(file.invoked(0)));
            assertTrue(HistoryFile.isZero(file.completed(0)));
        }
    }

    @Test
    void anOperationEndsOnce() throws IOException {
        try (FileHistory history = open()) {
            Pending pending = history.begin(Invocation.of(Kind.ADD, 0, 4));
            assertEquals(0, history.ended());
            assertTrue(pending.complete(Completion.ok(4)));
            assertEquals(0, history.repeated());
            assertFalse(pending.complete(Completion.failed(Outcome.UNKNOWN, -1, 4)));
            assertEquals(1, history.repeated());
            history.record(Invocation.of(Kind.LAC, 0, 4), 1, Completion.ok(4));
            assertEquals(2, history.ended());
        }
        assertEquals(Outcome.OK.code(), HistoryFile.all(folder).get(0).completed(0).get(56));
    }

    @Test
    void concurrentOperationsLeaveNoGapAndKeepTheOrderOfTime() throws Exception {
        int threads = 8;
        int each = 20_000;
        try (FileHistory history = open()) {
            var pool = Executors.newFixedThreadPool(threads);
            List<Callable<Void>> work = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                long ledger = thread;
                work.add(() -> {
                    for (long entry = 0; entry < each; entry++) {
                        Invocation add = Invocation.of(Kind.ADD, 0, ledger).about(entry, -1);
                        history.begin(add).complete(Completion.ok(ledger).telling(entry, entry));
                    }
                    return null;
                });
            }
            for (var done : pool.invokeAll(work)) {
                done.get();
            }
            pool.shutdown();
            assertEquals((long) threads * each, history.slots());
            assertEquals((long) threads * each, history.ended());
        }
        long due = (3L << 40) + 1;
        long before = 0;
        long[] next = new long[threads];
        for (HistoryFile file : HistoryFile.all(folder)) {
            int used = file.used();
            for (int slot = 0; slot < used; slot++) {
                ByteBuffer invoked = file.invoked(slot);
                ByteBuffer completed = file.completed(slot);
                assertTrue(HistoryFile.isSound(invoked) && HistoryFile.isSound(completed));
                assertEquals(due++, invoked.getLong(0));
                assertTrue(invoked.getLong(8) >= before);
                before = invoked.getLong(8);
                int ledger = (int) invoked.getLong(16);
                assertEquals(next[ledger]++, invoked.getLong(24));
                assertEquals(invoked.getLong(24), completed.getLong(16));
            }
        }
        assertEquals((3L << 40) + 1 + (long) threads * each, due);
    }

    @Test
    void whatWasPreparedAndNotUsedIsGivenBack() throws IOException {
        open().close();
        try (var files = Files.list(folder)) {
            assertEquals(List.of("writer-003-000001.hist"), files.map(p -> p.getFileName().toString()).toList());
        }
    }

    @Test
    void aBootHasOneHistory() throws IOException {
        open().close();
        assertThrows(IOException.class, () -> open());
    }

    @Test
    void aHistoryThatCannotGoOnSaysSoBeforeItThrows() throws IOException {
        List<HistoryException> lost = new ArrayList<>();
        Files.write(folder.resolve("writer-003-000002.hist"), new byte[1]); // in the way of the next segment
        FileHistory history = new FileHistory(folder, WRITER, lost::add);
        for (int slot = 0; slot < HistoryFormat.SLOTS; slot++) {
            history.begin(Invocation.of(Kind.ADD, 0, 1));
        }
        assertEquals(List.of(), lost);
        assertThrows(HistoryException.class, () -> history.begin(Invocation.of(Kind.ADD, 0, 1)));
        assertEquals(1, lost.size());
    }

    private FileHistory open() throws IOException {
        return new FileHistory(folder, WRITER, lost -> {
            throw lost;
        });
    }

    private static List<Long> longs(ByteBuffer half, int from, int count) {
        List<Long> values = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            values.add(half.getLong(from + 8 * i));
        }
        return values;
    }
}
