package fencepost.observer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LedgerPathsTest {
    @ParameterizedTest
    @CsvSource({
        "/ledgers/00/0000/L0007, 7",
        "/ledgers/21/4748/L3646, 2147483646",
        "/ledgers/000/0000/0021/4748/L3647, 2147483647",
        "/ledgers/922/3372/0368/5477/L5807, 9223372036854775807",
    })
    void aLedgersPathIsItsId(String path, long ledger) {
        assertEquals(OptionalLong.of(ledger), LedgerPaths.ledger(path));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "/ledgers", "/ledgers/00", "/ledgers/00/0000", "/ledgers/LAYOUT", "/ledgers/available/b1:3181",
        "/ledgers/00/0000/L00070", "/ledgers/underreplication/ledgers/0000/0000/0000/0007/urL0000000007",
    })
    void otherPathsAreNoLedgers(String path) {
        assertEquals(OptionalLong.empty(), LedgerPaths.ledger(path));
    }

    @Test
    void onlyBranchesOfLedgersAreSearched() {
        assertTrue(LedgerPaths.isBranch("/ledgers/00"));
        assertTrue(LedgerPaths.isBranch("/ledgers/00/0000"));
        assertTrue(LedgerPaths.isBranch("/ledgers/000/0000/0021"));
        assertFalse(LedgerPaths.isBranch("/ledgers/available"));
        assertFalse(LedgerPaths.isBranch("/ledgers/idgen-long"));
    }
}
