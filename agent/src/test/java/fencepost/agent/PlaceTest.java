package fencepost.agent;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import net.bytebuddy.pool.TypePool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A release without the one method that a defect changes is refused. */
class PlaceTest {
    private static final String BUILDER = "org.apache.bookkeeper.client.LedgerMetadataBuilder";
    private static final String DIGEST = "org.apache.bookkeeper.proto.checksum.DigestManager";

    @ParameterizedTest
    @MethodSource("fencepost.agent.Seeded#declarations")
    void eachDefectAndCureHasItsMethodInThisRelease(Declaration declaration) {
        assertDoesNotThrow(() -> Agent.requirePlace(declaration, TypePool.Default.ofSystemLoader()));
    }

    @Test
    void aMissingClassIsRefused() {
        assertEquals("this release has no class org.apache.Gone", refusal("org.apache.Gone", "any", null));
    }

    @Test
    void aMissingMethodIsRefused() {
        assertEquals(BUILDER + " has 0 methods withGone, not one", refusal(BUILDER, "withGone", null));
    }

    @Test
    void aMethodWithOtherArgumentsIsRefused() {
        assertEquals(BUILDER + " has 0 methods withLastEntryId, not one", refusal(BUILDER, "withLastEntryId", 2));
    }

    @Test
    void anAmbiguousMethodIsRefused() {
        assertEquals(DIGEST + " has 3 methods verifyDigest, not one", refusal(DIGEST, "verifyDigest", null));
    }

    private static String refusal(String type, String method, Integer arguments) {
        Declaration declaration = new Declaration("name", type, method, arguments, "advice", Map.of());
        return assertThrows(
                        RefusedException.class,
                        () -> Agent.requirePlace(declaration, TypePool.Default.ofSystemLoader()))
                .getMessage();
    }
}
