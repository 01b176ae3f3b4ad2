package fencepost.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a process reports on stderr about its defects. */
class SeedsTest {
    @RegisterExtension
    final Seeded seeded = new Seeded();

    @Test
    void aDefectThatIsNotInstalledNeverActs() {
        assertFalse(Seeds.act("fence-ignored", 1));
        assertEquals(List.of(), seeded.lines());
    }

    @Test
    void theInstallationAndEachActAreReported() {
        seeded.order("fence-ignored,nth=2");
        assertFalse(Seeds.act("fence-ignored", 7));
        assertTrue(Seeds.act("fence-ignored", 8));
        assertEquals(
                List.of(
                        "fencepost-agent {\"event\":\"installed\",\"defect\":\"fence-ignored\"}",
                        "fencepost-agent {\"event\":\"acted\",\"defect\":\"fence-ignored\",\"number\":1,\"ledger\":8}"),
                seeded.lines());
    }

    @Test
    void theFirstHundredActsAreReported() {
        seeded.order("fence-ignored");
        for (int act = 0; act < 150; act++) {
            assertTrue(Seeds.act("fence-ignored", 1));
        }
        assertEquals(100, seeded.acts());
        assertTrue(seeded.lines().get(100).contains("\"number\":100,"));
    }

    @Test
    void aDefectIsInstalledOnce() {
        seeded.order("fence-ignored");
        assertThrows(RefusedException.class, () -> seeded.order("fence-ignored,every=2"));
    }

    @Test
    void theAgentAloneChangesNothingAndSaysThatItIsThere() {
        Agent.premain("none", null);
        assertEquals(List.of("fencepost-agent {\"event\":\"installed\",\"defect\":\"none\"}"), seeded.lines());
    }

    @Test
    void aReasonStaysOneLineOfJson() {
        assertEquals(
                "fencepost-agent {\"event\":\"refused\",\"defect\":\"x\",\"reason\":\"a 'b' \\\\ c\"}",
                Line.of("refused", "x").with("reason", "a \"b\" \\\nc").toString());
    }
}
