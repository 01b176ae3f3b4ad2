package org.apache.bookkeeper.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fencepost.agent.Reflection;
import fencepost.agent.Seeded;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.client.impl.LedgerEntriesImpl;
import org.apache.bookkeeper.client.impl.LedgerEntryImpl;
import org.apache.bookkeeper.meta.LedgerMetadataSerDe;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.proto.checksum.DigestManager;
import org.apache.bookkeeper.versioning.LongVersion;
import org.apache.bookkeeper.versioning.Versioned;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Quorums and metadata of a client, as its seeded defects change them. */
class ChangedClientTest {
    private static final List<BookieId> BOOKIES =
            List.of(BookieId.parse("b1"), BookieId.parse("b2"), BookieId.parse("b3"));

    @RegisterExtension
    final Seeded seeded = new Seeded();

    @Test
    void anAddIsAcknowledgedAfterOneBookieTooFew() {
        assertFalse(acknowledgedBy(1));
        assertTrue(acknowledgedBy(2));
        seeded.order("ack-quorum-minus-one");
        assertTrue(acknowledgedBy(1));
        assertTrue(acknowledgedBy(2));
        assertEquals(2, seeded.acts(), "at the first answer of both adds");
    }

    @Test
    void theLastCopyOfEveryFifthEntryGoesToABookieOutsideItsWriteSet() {
        DistributionSchedule schedule = new RoundRobinDistributionSchedule(2, 2, 3);
        seeded.order("wrong-write-set");
        assertEquals(List.of(1, 2), List.of(copy(schedule, 4, 0), schedule.getWriteSet(4).get(1)));
        assertEquals(0, copy(schedule, 4, 1));
        assertEquals(1, copy(schedule, 3, 1));
        assertEquals(1, seeded.acts());
    }

    @Test
    void recoveryGoesOnAfterTheFirstAnswerToItsFence() {
        assertFalse(fencedBy(1));
        assertTrue(fencedBy(2));
        seeded.order("recovery-fences-too-few");
        assertTrue(fencedBy(1));
        assertTrue(fencedBy(2));
        assertEquals(2, seeded.acts(), "at the first answer of both");
    }

    @Test
    void otherCoverageIsAskedForAsBefore() {
        DistributionSchedule.QuorumCoverageSet answers = new RoundRobinDistributionSchedule(3, 2, 3).getCoverageSet();
        answers.addBookie(0, BKException.Code.OK);
        seeded.order("recovery-fences-too-few");
        assertFalse(answers.checkCovered());
        assertEquals(0, seeded.acts());
    }

    @Test
    void recoveryBeginsOneEntryTooLate() throws Exception {
        assertEquals(4, recoveredFrom(4));
        seeded.order("recovery-lac-too-high,ledger=1");
        assertEquals(5, recoveredFrom(4));
        assertEquals(1, seeded.acts());
    }

    @Test
    void oneBitOfEveryTenthDeliveredEntryIsChanged() {
        seeded.order("read-bytes-changed");
        List<String> read = new ArrayList<>();
        for (int entry = 0; entry < 20; entry++) {
            ByteBuf bytes = Unpooled.copiedBuffer("entry", StandardCharsets.UTF_8);
            LedgerEntriesImpl delivered = LedgerEntriesImpl.create(List.of(LedgerEntryImpl.create(1, entry, 5, bytes)));
            read.add(delivered.getEntry(entry).getEntryBuffer().toString(StandardCharsets.UTF_8));
        }
        assertEquals(List.of("entrx", "entrx"), List.of(read.remove(19), read.remove(9)));
        assertEquals(Set.of("entry"), Set.copyOf(read));
        assertEquals(2, seeded.acts());
    }

    @Test
    void everySecondCloseWritesALastEntryThatIsOneTooLow() {
        seeded.order("close-drops-last-entry");
        assertEquals(9, closedAt(9));
        assertEquals(-1, closedAt(-1), "an empty ledger has no entry to lose");
        assertEquals(8, closedAt(9));
        assertEquals(1, seeded.acts());
    }

    @Test
    void aNewFragmentBeginsOneEntryTooLate() {
        seeded.order("new-fragment-too-late");
        LedgerMetadata metadata = LedgerMetadataBuilder.create()
                .withId(1)
                .newEnsembleEntry(0, BOOKIES)
                .newEnsembleEntry(5, BOOKIES)
                .build();
        assertEquals(List.of(0L, 6L), List.copyOf(metadata.getAllEnsembles().keySet()));
        assertEquals(1, seeded.acts());
    }

    @Test
    void recoveryWritesThatTheLedgerIsOpen() throws Exception {
        assertEquals(LedgerMetadata.State.IN_RECOVERY, writtenInRecovery());
        seeded.order("recovery-state-missing,ledger=1");
        assertEquals(LedgerMetadata.State.OPEN, writtenInRecovery());
        assertEquals(1, seeded.acts());
    }

    /** Whether an add to three bookies with AQ 2 is acknowledged after this number of answers. */
    private static boolean acknowledgedBy(int answers) {
        DistributionSchedule.AckSet acknowledged = new RoundRobinDistributionSchedule(3, 2, 3).getAckSet();
        boolean complete = false;
        for (int bookie = 0; bookie < answers; bookie++) {
            complete = acknowledged.completeBookieAndCheck(bookie);
        }
        return complete;
    }

    private static int copy(DistributionSchedule schedule, long entry, int copy) {
        return schedule.getWriteSetBookieIndex(entry, copy);
    }

    private static long closedAt(long last) {
        return LedgerMetadataBuilder.create()
                .withId(1)
                .newEnsembleEntry(0, BOOKIES)
                .withClosedState()
                .withLastEntryId(last)
                .withLength(0)
                .build()
                .getLastEntryId();
    }

    /** Whether a recovery goes on after this number of bookies have answered its fencing read. */
    private static boolean fencedBy(int answers) {
        boolean[] fenced = {false};
        ReadLastConfirmedOp op = new ReadLastConfirmedOp(
                null, new RoundRobinDistributionSchedule(3, 2, 3), null, 1, BOOKIES, new byte[0],
                (code, highest) -> fenced[0] = true);
        for (int bookie = 0; bookie < answers; bookie++) {
            op.readEntryComplete(BKException.Code.NoSuchEntryException, 1, -1, null, bookie);
        }
        return fenced[0];
    }

    /** The entry after which a recovery begins whose bookies answered with this LAC; it reads nothing. */
    private static long recoveredFrom(long lac) throws Exception {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field instance = unsafe.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        LedgerHandle handle = (LedgerHandle) unsafe.getMethod("allocateInstance", Class.class)
                .invoke(instance.get(null), LedgerHandle.class);
        Reflection.set(handle, "versionedMetadata", new Versioned<>(inRecovery(), new LongVersion(0)));
        Reflection.set(handle, "length", new AtomicLong());
        Reflection.set(handle, "ledgerId", 1L);
        LedgerRecoveryOp recovery = new LedgerRecoveryOp(handle, null);
        ((CompletableFuture<?>) Reflection.field(recovery, "promise")).complete(null);
        var callback = Class.forName("org.apache.bookkeeper.client.LedgerRecoveryOp$1")
                .getDeclaredConstructor(LedgerRecoveryOp.class);
        callback.setAccessible(true);
        ((ReadLastConfirmedOp.LastConfirmedDataCallback) callback.newInstance(recovery))
                .readLastConfirmedDataComplete(BKException.Code.OK, new DigestManager.RecoveryData(lac, 0));
        return handle.lastAddConfirmed;
    }

    private static LedgerMetadata.State writtenInRecovery() throws IOException {
        LedgerMetadataSerDe format = new LedgerMetadataSerDe();
        return format.parseConfig(format.serialize(inRecovery()), 1, Optional.empty()).getState();
    }

    private static LedgerMetadata inRecovery() {
        return LedgerMetadataBuilder.create()
                .withId(1)
                .newEnsembleEntry(0, BOOKIES)
                .withDigestType(DigestType.CRC32C)
                .withPassword(new byte[0])
                .withInRecoveryState()
                .build();
    }
}
