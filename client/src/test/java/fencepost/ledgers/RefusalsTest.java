package fencepost.ledgers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.bookkeeper.client.BKException.Code;
import org.junit.jupiter.api.Test;

class RefusalsTest {
    @Test
    void anAddTurnedAwayByAClosedHandleHasNoId() {
        assertTrue(Refusals.ofAdd(Code.LedgerClosedException, -1, false, false));
    }

    @Test
    void anAddDrainedByAClosingHandleHasOneAndWasPerhapsSent() {
        assertFalse(Refusals.ofAdd(Code.LedgerClosedException, 7, false, false));
    }

    @Test
    void withIdsOfTheCallerOnlyMetadataClosedBeforeIsProof() {
        assertFalse(Refusals.ofAdd(Code.LedgerClosedException, 7, true, false));
        assertFalse(Refusals.ofAdd(Code.LedgerClosedException, -1, true, false));
        assertTrue(Refusals.ofAdd(Code.LedgerClosedException, 7, true, true));
    }

    @Test
    void aDuplicateIsRefusedOnlyWhereTheCallerGivesIds() {
        assertTrue(Refusals.ofAdd(Code.DuplicateEntryIdException, 7, true, false));
        assertFalse(Refusals.ofAdd(Code.DuplicateEntryIdException, 7, false, false));
    }

    @Test
    void anAddOnAHandleThatOnlyReadsHasNoId() {
        assertTrue(Refusals.ofAdd(Code.IllegalOpException, -1, false, false));
        assertFalse(Refusals.ofAdd(Code.IllegalOpException, 7, false, false));
    }

    @Test
    void everyOtherErrorOfAnAddIsUnknown() {
        int[] codes = {
            Code.LedgerFencedException, Code.NotEnoughBookiesException, Code.TimeoutException,
            Code.BookieHandleNotAvailableException, Code.WriteException, Code.ClientClosedException,
            Code.InterruptedException, Code.UnexpectedConditionException, Code.AddEntryQuorumTimeoutException,
        };
        for (int code : codes) {
            assertFalse(Refusals.ofAdd(code, -1, false, true), Errors.name(code));
        }
    }

    @Test
    void aCreateIsRefusedForQuorumsThatCannotBe() {
        assertTrue(Refusals.ofCreate(Code.IncorrectParameterException, 2, 3, 2));
        assertTrue(Refusals.ofCreate(Code.IncorrectParameterException, 3, 2, 3));
        assertFalse(Refusals.ofCreate(Code.IncorrectParameterException, 3, 3, 2));
        assertFalse(Refusals.ofCreate(Code.NotEnoughBookiesException, 2, 3, 2));
    }

    @Test
    void errorsHaveTheNamesOfBookKeeper() {
        assertEquals("LedgerFenced", Errors.name(Code.LedgerFencedException));
        assertEquals("LedgerRecovery", Errors.name(Code.LedgerRecoveryException));
    }
}
