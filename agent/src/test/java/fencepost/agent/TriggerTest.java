package fencepost.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** At which opportunities a defect acts. */
class TriggerTest {
    @Test
    void aDefectActsAtEveryOpportunityUnlessSomethingElseIsSaid() {
        assertEquals(List.of(1, 2, 3, 4), fired(Map.of(), 4));
    }

    @Test
    void everyThirdOpportunity() {
        assertEquals(List.of(3, 6, 9), fired(Map.of("every", "3"), 10));
    }

    @Test
    void theNthOpportunityOnly() {
        assertEquals(List.of(4), fired(Map.of("nth", "4"), 20));
    }

    @Test
    void aSeedRepeatsItsChoiceAndAnotherSeedMakesAnother() {
        Map<String, String> half = Map.of("probability", "0.5", "seed", "7");
        List<Integer> chosen = fired(half, 1000);
        assertEquals(chosen, fired(half, 1000));
        assertNotEquals(chosen, fired(Map.of("probability", "0.5", "seed", "8"), 1000));
        assertTrue(chosen.size() > 400 && chosen.size() < 600, chosen.size() + " of 1000");
    }

    @Test
    void aProbabilityOfZeroNeverActsAndOneAlways() {
        assertEquals(List.of(), fired(Map.of("probability", "0"), 1000));
        assertEquals(100, fired(Map.of("probability", "1"), 100).size());
    }

    @Test
    void opportunitiesOfOtherLedgersAreNotCounted() {
        Trigger trigger = Trigger.of(Map.of(), Map.of("ledger", "8", "every", "2"));
        long[] ledgers = {8, 9, -1, 9, 8, 8, 8};
        assertEquals(
                List.of(false, false, false, false, true, false, true),
                LongStream.of(ledgers).mapToObj(trigger::fires).toList());
    }

    @Test
    void aDefectOfLaterBootsSleepsInTheFirst() {
        assertEquals(List.of(), fired(Map.of("from_boot", "2", "boot", "1"), 3));
        assertEquals(List.of(1, 2, 3), fired(Map.of("from_boot", "2", "boot", "2"), 3));
        assertEquals(List.of(1, 2, 3), fired(Map.of("from_boot", "2", "boot", "3"), 3));
    }

    @Test
    void anOrderReplacesWhatTheDeclarationSaysOfTheSameKey() {
        Trigger trigger = Trigger.of(Map.of("every", "5"), Map.of("every", "1"));
        assertTrue(trigger.fires(-1));
        Trigger both = Trigger.of(Map.of("every", "2"), Map.of("ledger", "1"));
        assertFalse(both.fires(1));
        assertTrue(both.fires(1));
    }

    @ParameterizedTest
    @CsvSource({
        "sometimes, 1, a trigger has no key sometimes",
        "every, x, a trigger's value is no number",
        "every, 0, every is at least 1",
        "probability, 1.5, a probability from 0 to 1",
    })
    void whatIsNoTriggerIsRefused(String key, String value, String reason) {
        RefusedException refused =
                assertThrows(RefusedException.class, () -> Trigger.of(Map.of(), Map.of(key, value)));
        assertTrue(refused.getMessage().contains(reason), refused.getMessage());
    }

    /** Which of the first {@code count} opportunities are taken, counted from 1. */
    private static List<Integer> fired(Map<String, String> settings, int count) {
        Trigger trigger = Trigger.of(Map.of(), settings);
        return IntStream.rangeClosed(1, count).filter(number -> trigger.fires(-1)).boxed().toList();
    }
}
