package fencepost.ledgers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.history.Outcome;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.client.BKException.Code;
import org.junit.jupiter.api.Test;

class TallyTest {
    private final Tally tally = new Tally();

    @Test
    void countsWhatIsInFlight() {
        tally.issued();
        tally.issued();
        tally.ended(Outcome.OK, 0, 4);
        assertEquals(1, tally.outstanding());
        assertEquals(4, tally.lastAcked());
    }

    @Test
    void keepsTheFirstErrorAndTellsIt() {
        tally.ended(Outcome.UNKNOWN, Code.LedgerFencedException, 5);
        tally.ended(Outcome.FAIL, Code.LedgerClosedException, -1);
        ObjectNode reply = tally.into(JsonNodeFactory.instance.objectNode());
        assertEquals("LedgerFenced", reply.get("error").textValue());
        assertEquals(1, reply.get("unknown").longValue());
        assertEquals(1, reply.get("failed").longValue());
        assertEquals(-1, reply.get("last_acked").longValue());
    }

    @Test
    void whoWaitsIsToldWhenItIsTrue() throws Exception {
        CompletableFuture<Boolean> waited = CompletableFuture.supplyAsync(() -> {
            try {
                return tally.await(t -> t.acked() == 2, 10_000_000_000L);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        tally.ended(Outcome.OK, 0, 0);
        tally.ended(Outcome.OK, 0, 1);
        assertTrue(waited.get());
    }

    @Test
    void whoWaitsForSomethingElseIsToldOfItsChange() throws Exception {
        AtomicBoolean idle = new AtomicBoolean();
        Thread waits = new Thread(() -> {
            try {
                tally.await(t -> idle.get(), 60_000_000_000L);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        waits.start();
        while (waits.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        idle.set(true);
        tally.changed();
        waits.join(20_000);
        assertFalse(waits.isAlive());
    }

    @Test
    void whoWaitsTooLongIsToldThat() throws Exception {
        assertFalse(tally.await(t -> t.acked() == 1, 5_000_000));
    }
}
