package org.apache.bookkeeper.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import fencepost.agent.Seeded;
import java.util.List;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.net.BookieId;
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
        DistributionSchedule schedule = new RoundRobinDistributionSchedule(3, 2, 3);
        DistributionSchedule.QuorumCoverageSet answers = schedule.getCoverageSet();
        answers.addBookie(0, BKException.Code.OK);
        assertFalse(answers.checkCovered());
        seeded.order("recovery-fences-too-few");
        assertTrue(answers.checkCovered());
        answers.addBookie(1, BKException.Code.OK);
        assertTrue(answers.checkCovered());
        assertEquals(1, seeded.acts(), "enough answers need no defect");
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
    void recoveryLeavesTheLedgerOpen() {
        assertEquals(LedgerMetadata.State.IN_RECOVERY, inRecovery());
        seeded.order("recovery-state-missing");
        assertEquals(LedgerMetadata.State.OPEN, inRecovery());
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

    private static LedgerMetadata.State inRecovery() {
        return LedgerMetadataBuilder.create()
                .withId(1)
                .newEnsembleEntry(0, BOOKIES)
                .withInRecoveryState()
                .build()
                .getState();
    }
}
