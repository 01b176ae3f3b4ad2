package fencepost.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands after the {@code =} of {@code -javaagent}. */
class OrderTest {
    @Test
    void anOrderIsANameAndSettings() {
        assertEquals(new Order("fence-ignored", Map.of()), Order.parse("fence-ignored"));
        assertEquals(
                new Order("fence-ignored", Map.of("every", "3", "boot", "2")),
                Order.parse("fence-ignored,every=3,boot=2"));
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " "})
    void anAgentWithoutAnOrderIsRefused(String argument) {
        assertEquals("no defect is named", refusal(argument));
    }

    @ParameterizedTest
    @ValueSource(strings = {"fence-ignored,every", "fence-ignored,=3"})
    void aSettingIsAKeyAndAValue(String argument) {
        assertTrue(refusal(argument).startsWith("a trigger is key=value, not "));
    }

    @Test
    void aNameWithoutADeclarationIsRefused() {
        RefusedException refused =
                assertThrows(RefusedException.class, () -> Declaration.load("no-such-defect"));
        assertEquals("no defect and no cure has this name", refused.getMessage());
    }

    @Test
    void aDeclarationSaysWhereAndWhen() {
        Declaration defect = Declaration.load("add-not-stored");
        assertEquals("org.apache.bookkeeper.bookie.LedgerDescriptorImpl", defect.type());
        assertEquals("addEntry", defect.method());
        assertEquals("fencepost.agent.defects.AddNotStored", defect.advice());
        assertEquals(Map.of("every", "5"), defect.trigger());
        assertEquals("fencepost.agent.cures.PrebootAwaited", Declaration.load("preboot-awaited").advice());
    }

    private static String refusal(String argument) {
        return assertThrows(RefusedException.class, () -> Order.parse(argument)).getMessage();
    }
}
