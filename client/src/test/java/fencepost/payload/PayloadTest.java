package fencepost.payload;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import fencepost.history.Proof;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadTest {
    private static final long RUN = 0x8000_0000_0000_0001L;

    @ParameterizedTest
    @ValueSource(ints = {64, 65, 71, 72, 1000, 1024, 100_003})
    void aPayloadProvesItself(int size) {
        Evidence evidence = verify(Payload.make(RUN, 101, 5, 6, size), 5, 6);
        assertEquals(Proof.PROVES_ITSELF, evidence.proof());
        assertEquals(101, evidence.origin());
        assertEquals(size, evidence.sizeBytes());
    }

    @Test
    void anyChangedByteIsFound() {
        byte[] whole = Payload.make(RUN, 101, 5, 6, 203);
        for (int at = 0; at < whole.length; at++) {
            byte[] changed = whole.clone();
            changed[at] ^= 0x10;
            Proof expected = at < 4 ? Proof.NONE : Proof.DAMAGED;
            assertEquals(expected, verify(changed, 5, 6).proof(), "byte " + at);
        }
    }

    @Test
    void aShorterOrLongerPayloadIsDamaged() {
        byte[] whole = Payload.make(RUN, 101, 5, 6, 100);
        assertEquals(Proof.DAMAGED, verify(Arrays.copyOf(whole, 99), 5, 6).proof());
        assertEquals(Proof.DAMAGED, verify(Arrays.copyOf(whole, 101), 5, 6).proof());
        assertEquals(Proof.NONE, verify(Arrays.copyOf(whole, 39), 5, 6).proof());
        assertEquals(Proof.NONE, verify(new byte[0], 5, 6).proof());
    }

    @Test
    void aPayloadOfAnotherRunLedgerOrEntryIsForeign() {
        byte[] payload = Payload.make(RUN, 101, 5, 6, 100);
        assertEquals(Proof.FOREIGN, verify(payload, 5, 7).proof());
        assertEquals(Proof.FOREIGN, verify(payload, 4, 6).proof());
        assertEquals(Proof.FOREIGN, Payload.verify(ByteBuffer.wrap(payload), RUN + 1, 5, 6).proof());
    }

    @Test
    void theDigestIsBothChecksumsOfAllBytes() {
        byte[] payload = Payload.make(RUN, 101, 5, 6, 100);
        CRC32C castagnoli = new CRC32C();
        castagnoli.update(payload);
        CRC32 ieee = new CRC32();
        ieee.update(payload);
        long digest = castagnoli.getValue() << 32 | ieee.getValue();
        assertEquals(digest, verify(payload, 5, 6).digest());
        assertEquals(new Evidence(Proof.PROVES_ITSELF, digest, 101, 100), Payload.evidence(payload, 101));
    }

    @Test
    void theSamePayloadIsMadeAgainAndNoOther() {
        assertArrayEquals(Payload.make(RUN, 101, 5, 6, 100), Payload.make(RUN, 101, 5, 6, 100));
        byte[] one = Payload.make(RUN, 101, 5, 5, 100);
        byte[] other = Payload.make(RUN, 101, 6, 6, 100);
        assertNotEquals(ByteBuffer.wrap(one, 40, 60), ByteBuffer.wrap(other, 40, 60));
    }

    @Test
    void theLayoutIsThatOfTheFormat() {
        ByteBuffer payload = ByteBuffer.wrap(Payload.make(RUN, 101, 5, 6, 100));
        assertEquals(0x46504531, payload.getInt(0));
        assertEquals(101, payload.getInt(4));
        assertEquals(RUN, payload.getLong(8));
        assertEquals(5, payload.getLong(16));
        assertEquals(6, payload.getLong(24));
        assertEquals(100, payload.getInt(32));
        CRC32C crc = new CRC32C();
        crc.update(payload.slice(0, 36));
        crc.update(payload.slice(40, 60));
        assertEquals((int) crc.getValue(), payload.getInt(36));
    }

    @Test
    void theSmallestPayloadHasSixtyFourBytes() {
        assertThrows(IllegalArgumentException.class, () -> Payload.make(RUN, 101, 5, 6, 63));
    }

    private static Evidence verify(byte[] payload, long ledger, long entry) {
        return Payload.verify(ByteBuffer.wrap(payload), RUN, ledger, entry);
    }
}
