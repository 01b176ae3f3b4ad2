package fencepost.observer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import fencepost.history.Proof;
import fencepost.payload.Evidence;
import fencepost.payload.Payload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.apache.bookkeeper.client.api.DigestType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StoredEntryTest {
    @ParameterizedTest
    @CsvSource({"MAC, 20", "CRC32, 8", "CRC32C, 4", "DUMMY, 0"})
    void thePayloadLiesBehindHeaderAndDigest(DigestType digest, int digestBytes) {
        ByteBuf stored = stored(digestBytes);
        assertEquals(Proof.PROVES_ITSELF, StoredEntry.verify(stored, digest, 1, 5, 6).proof());
        assertEquals(Proof.PROVES_ITSELF, StoredEntry.verify(stored, null, 1, 5, 6).proof());
        assertEquals(Proof.FOREIGN, StoredEntry.verify(stored, digest, 1, 5, 7).proof());
    }

    @Test
    void whatIsTooShortProvesNothing() {
        assertEquals(Evidence.NONE, StoredEntry.verify(null, DigestType.MAC, 1, 5, 6));
        assertEquals(Evidence.NONE, StoredEntry.verify(Unpooled.wrappedBuffer(new byte[40]), DigestType.MAC, 1, 5, 6));
        assertEquals(Proof.NONE, StoredEntry.verify(Unpooled.wrappedBuffer(new byte[90]), null, 1, 5, 6).proof());
    }

    private static ByteBuf stored(int digestBytes) {
        return Unpooled.wrappedBuffer(new byte[32 + digestBytes], Payload.make(1, 101, 5, 6, 100));
    }
}
