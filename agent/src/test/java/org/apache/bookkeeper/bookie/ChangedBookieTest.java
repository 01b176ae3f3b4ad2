package org.apache.bookkeeper.bookie;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fencepost.agent.Seeded;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.meta.LedgerManager;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.bookkeeper.util.DiskChecker;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Markers, handles of ledgers and garbage collection of a bookie, as defects and cures change them. */
class ChangedBookieTest {
    private static final byte[] KEY = {1, 2, 3};

    @RegisterExtension
    final Seeded seeded = new Seeded();

    @TempDir
    Path folder;

    @Test
    void anUncleanShutdownIsTakenForACleanOne() throws Exception {
        UncleanShutdownDetection detection = detection();
        detection.registerStartUp();
        assertTrue(detection.lastShutdownWasUnclean());
        seeded.order("unclean-not-reported");
        assertFalse(detection.lastShutdownWasUnclean());
        detection.registerCleanShutdown();
        assertFalse(detection.lastShutdownWasUnclean());
        assertEquals(1, seeded.acts(), "a clean shutdown needs no defect");
    }

    @Test
    void directoriesAreNotMarkedAsInUse() throws Exception {
        seeded.order("dirty-marker-missing");
        UncleanShutdownDetection detection = detection();
        detection.registerStartUp();
        assertFalse(detection.lastShutdownWasUnclean());
        assertEquals(1, seeded.acts());
    }

    @Test
    void theCureOfTheMarkerLeavesItInPlace() throws Exception {
        seeded.order("marker-synced");
        UncleanShutdownDetection detection = detection();
        detection.registerStartUp();
        assertTrue(detection.lastShutdownWasUnclean());
        assertEquals(1, seeded.acts());
    }

    @Test
    void theCureOfTheCookieLeavesItsFileAsItWas() throws Exception {
        Path unchanged = Files.createDirectory(folder.resolve("unchanged"));
        Path cured = Files.createDirectory(folder.resolve("cured"));
        writeCookie(unchanged);
        seeded.order("cookie-synced");
        writeCookie(cured);
        assertEquals(Files.readString(unchanged.resolve("VERSION")), Files.readString(cured.resolve("VERSION")));
        assertEquals(1, seeded.acts());
    }

    @Test
    void aFenceIsIgnored() throws Exception {
        LedgerDescriptor ledger = LedgerDescriptor.create(KEY, 5, new Memory().storage());
        assertFalse(ledger.isFenced());
        ledger.setFenced();
        assertTrue(ledger.isFenced());
        seeded.order("fence-ignored");
        assertFalse(ledger.isFenced());
        assertEquals(1, seeded.acts());
    }

    @Test
    void aFenceIsConfirmedWithoutARecordInTheJournal() throws Exception {
        LedgerDescriptor ledger = LedgerDescriptor.create(KEY, 5, new Memory().storage());
        assertThrows(NullPointerException.class, () -> ledger.fenceAndLogInJournal(null));
        seeded.order("fence-not-journaled");
        LedgerDescriptor other = LedgerDescriptor.create(KEY, 6, new Memory().storage());
        assertTrue(other.fenceAndLogInJournal(null).join(), "confirmed without a journal");
        assertTrue(other.isFenced());
        assertEquals(1, seeded.acts());
    }

    @Test
    void everyFifthEntryIsAcknowledgedAndNotStored() throws Exception {
        Memory memory = new Memory();
        LedgerDescriptor ledger = LedgerDescriptor.create(KEY, 5, memory.storage());
        seeded.order("add-not-stored");
        for (long entry = 0; entry < 6; entry++) {
            assertEquals(entry, ledger.addEntry(Unpooled.buffer().writeLong(5).writeLong(entry)));
        }
        assertEquals(Set.of(0L, 1L, 2L, 3L, 5L), memory.entries.keySet());
        assertEquals(1, seeded.acts());
    }

    @Test
    void everyFourthReadIsDenied() throws Exception {
        LedgerDescriptor ledger = LedgerDescriptor.create(KEY, 5, new Memory().storage());
        ledger.addEntry(Unpooled.buffer().writeLong(5).writeLong(0));
        seeded.order("entry-denied");
        for (int read = 1; read < 4; read++) {
            assertEquals(2 * Long.BYTES, ledger.readEntry(0).readableBytes());
        }
        assertThrows(Bookie.NoEntryException.class, () -> ledger.readEntry(0));
        assertEquals(1, seeded.acts());
    }

    @Test
    void anEmptyKeyFromTheJournalGivesWayToTheRealOne() throws Exception {
        HandleFactory handles = new HandleFactoryImpl(new Memory().storage());
        handles.getHandle(5, new byte[0], true);
        assertThrows(BookieException.class, () -> handles.getHandle(5, KEY, false));
        seeded.order("empty-key-replaced");
        handles.getHandle(5, KEY, false).checkAccess(KEY);
        handles.getHandle(5, KEY, false);
        assertEquals(1, seeded.acts(), "a handle with the real key stays");
    }

    @Test
    void garbageCollectionDeletesALedgerThatTheMetadataList() throws Exception {
        assertEquals(List.of(9L), collected());
        seeded.order("gc-deletes-live-ledger");
        assertEquals(List.of(2L, 9L), collected());
        assertEquals(1, seeded.acts());
    }

    @Test
    void theLacOfEntriesThatAreOnlyInMemoryIsFoundThere() throws Exception {
        LedgerStorage storage = sortedStorageWithOneOpenFile();
        for (long ledger = 1; ledger <= 3; ledger++) {
            storage.setMasterKey(ledger, KEY);
            storage.addEntry(Unpooled.buffer().writeLong(ledger).writeLong(0).writeLong(-1));
        }
        assertEquals(3 * Long.BYTES, storage.getEntry(1, 0).readableBytes());
        assertThrows(Bookie.NoEntryException.class, () -> storage.getLastAddConfirmed(1));
        seeded.order("lac-from-memory");
        assertEquals(-1, storage.getLastAddConfirmed(1));
        assertEquals(-1, storage.getLastAddConfirmed(1));
        assertEquals(1, seeded.acts(), "a LAC in the cache is left alone");
    }

    @Test
    void anEntryLogThatBeginsOrdersNoCheckpoint() throws Exception {
        assertEquals(List.of("startCheckpoint"), ordersOfACheckpoint());
        seeded.order("one-log-listener");
        assertEquals(List.of(), ordersOfACheckpoint());
        assertEquals(1, seeded.acts(), "the first listener is added all the same");
    }

    private List<String> ordersOfACheckpoint() throws IOException, BookieException {
        List<String> ordered = new ArrayList<>();
        LedgerStorage storage = sortedStorageWithOneOpenFile();
        storage.setCheckpointer(stub(Checkpointer.class, (name, arguments) -> {
            ordered.add(name);
            return null;
        }));
        storage.setCheckpointSource(
                stub(CheckpointSource.class, (name, arguments) -> CheckpointSource.Checkpoint.MIN));
        storage.setMasterKey(1, KEY);
        storage.addEntry(Unpooled.buffer().writeLong(1).writeLong(0).writeLong(-1));
        storage.checkpoint(CheckpointSource.Checkpoint.MAX);
        return ordered;
    }

    private LedgerStorage sortedStorageWithOneOpenFile() throws IOException {
        ServerConfiguration configuration = new ServerConfiguration().setBookieId("b1").setOpenFileLimit(1);
        configuration.setLedgerDirNames(new String[] {folder.toString()});
        Files.createDirectories(folder.resolve("current"));
        LedgerDirsManager manager =
                new LedgerDirsManager(configuration, configuration.getLedgerDirs(), new DiskChecker(0.99f, 0.99f));
        LedgerManager metadata = stub(LedgerManager.class, (name, arguments) -> null);
        LedgerStorage storage = new SortedLedgerStorage();
        storage.initialize(
                configuration, metadata, manager, manager, NullStatsLogger.INSTANCE, UnpooledByteBufAllocator.DEFAULT);
        storage.setCheckpointSource(
                stub(CheckpointSource.class, (name, arguments) -> CheckpointSource.Checkpoint.MAX));
        return storage;
    }

    private UncleanShutdownDetection detection() throws IOException {
        File[] directories = {folder.toFile()};
        DiskChecker disks = new DiskChecker(0.99f, 0.99f);
        LedgerDirsManager manager = new LedgerDirsManager(new ServerConfiguration(), directories, disks);
        Files.createDirectories(folder.resolve("current"));
        return new UncleanShutdownDetectionImpl(manager);
    }

    private static void writeCookie(Path directory) throws IOException {
        Cookie.newBuilder()
                .setBookieId("b1")
                .setJournalDirs("/journal")
                .setLedgerDirs(Cookie.encodeDirPaths(new String[] {"/ledgers"}))
                .setInstanceId("1")
                .build()
                .writeToDirectory(directory.toFile());
    }

    /** What is removed of ledgers 2, 4 and 9, of which the metadata list 2 and 4. */
    private static List<Long> collected() throws IOException {
        Iterator<LedgerManager.LedgerRange> ranges =
                List.of(new LedgerManager.LedgerRange(Set.of(2L, 4L))).iterator();
        LedgerManager.LedgerRangeIterator listed = stub(LedgerManager.LedgerRangeIterator.class, (name, arguments) ->
                name.equals("hasNext") ? (Object) ranges.hasNext() : ranges.next());
        LedgerManager metadata = stub(LedgerManager.class, (name, arguments) -> listed);
        CompactableLedgerStorage storage =
                stub(CompactableLedgerStorage.class, (name, arguments) -> new TreeSet<>(Set.of(2L, 4L, 9L)));
        List<Long> removed = new ArrayList<>();
        ServerConfiguration configuration = new ServerConfiguration().setBookieId("b1");
        new ScanAndCompareGarbageCollector(metadata, storage, configuration, NullStatsLogger.INSTANCE)
                .gc(removed::add);
        return removed;
    }

    private static <T> T stub(Class<T> type, Answers answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> answers.to(method.getName(), arguments)));
    }

    /** The answer to a call of a stub. */
    private interface Answers {
        Object to(String method, Object[] arguments) throws Exception;
    }

    /** The little of a ledger storage that handles of ledgers need. */
    private static final class Memory {
        final Map<Long, ByteBuf> entries = new TreeMap<>();
        private boolean fenced;

        LedgerStorage storage() {
            return stub(LedgerStorage.class, this::answer);
        }

        private Object answer(String method, Object[] arguments) throws IOException {
            return switch (method) {
                case "setMasterKey", "registerLedgerDeletionListener" -> null;
                case "isFenced" -> fenced;
                case "setFenced" -> {
                    boolean first = !fenced;
                    fenced = true;
                    yield first;
                }
                case "addEntry" -> {
                    ByteBuf entry = (ByteBuf) arguments[0];
                    entries.put(entry.getLong(Long.BYTES), entry);
                    yield entry.getLong(Long.BYTES);
                }
                case "getEntry" -> entries.get((Long) arguments[1]);
                default -> throw new IllegalStateException("no answer to " + method);
            };
        }
    }
}
