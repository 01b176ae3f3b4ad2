package org.apache.bookkeeper.proto.checksum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import fencepost.agent.Seeded;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.proto.LedgerMetadataFormat.DigestType;
import org.apache.bookkeeper.util.ByteBufList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What a client packs into an entry and accepts of one, as its seeded defects change it. */
class ChangedDigestTest {
    private static final long LEDGER = 3;
    private static final int LAC_OFFSET = 2 * Long.BYTES;

    @RegisterExtension
    final Seeded seeded = new Seeded();

    @Test
    void anEntryCarriesALacThatIsOneTooHigh() throws Exception {
        assertEquals(4, sent(6, 4).getLong(LAC_OFFSET));
        seeded.order("lac-too-high");
        assertEquals(5, sent(6, 4).getLong(LAC_OFFSET));
        assertEquals(1, seeded.acts());
    }

    @Test
    void aDefectOfAnotherLedgerDoesNotAct() throws Exception {
        seeded.order("lac-too-high,ledger=4");
        assertEquals(4, sent(6, 4).getLong(LAC_OFFSET));
        assertEquals(0, seeded.acts());
    }

    @Test
    void aDefectOfThisLedgerActs() throws Exception {
        seeded.order("lac-too-high,ledger=3");
        assertEquals(5, sent(6, 4).getLong(LAC_OFFSET));
        assertEquals(1, seeded.acts());
    }

    @Test
    void anEntryWithAWrongDigestIsDelivered() throws Exception {
        ByteBuf damaged = sent(6, 4);
        int last = damaged.writerIndex() - 1;
        damaged.setByte(last, damaged.getByte(last) ^ 1);
        assertThrows(BKException.BKDigestMatchException.class, () -> delivered(damaged.duplicate()));
        seeded.order("digest-not-checked");
        assertEquals("entrx", delivered(damaged.duplicate()));
        assertEquals("entry", delivered(sent(6, 4)));
        assertEquals(1, seeded.acts(), "a right digest needs no defect");
    }

    /** The bytes of the entry "entry" as a client sends them. */
    private static ByteBuf sent(long entry, long lac) throws GeneralSecurityException {
        ByteBuf data = Unpooled.copiedBuffer("entry", StandardCharsets.UTF_8);
        ByteBufList packed = (ByteBufList) DigestManager.instantiate(
                        LEDGER, new byte[0], DigestType.CRC32C, UnpooledByteBufAllocator.DEFAULT, false)
                .computeDigestAndPackageForSending(entry, lac, 5, data, new byte[0], 0);
        return ByteBufList.coalesce(packed);
    }

    private static String delivered(ByteBuf received) throws GeneralSecurityException, BKException {
        return DigestManager.instantiate(
                        LEDGER, new byte[0], DigestType.CRC32C, UnpooledByteBufAllocator.DEFAULT, false)
                .verifyDigestAndReturnData(6, received)
                .toString(StandardCharsets.UTF_8);
    }
}
