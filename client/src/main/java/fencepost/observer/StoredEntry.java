package fencepost.observer;

import fencepost.payload.Evidence;
import fencepost.payload.Payload;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import org.apache.bookkeeper.client.api.DigestType;

/** An entry as a bookie stores it: BookKeeper's header, its digest, then what the writer gave. */
final class StoredEntry {
    /** Ledger, entry, last add confirmed and length, eight bytes each. */
    private static final int HEADER_BYTES = 32;

    private StoredEntry() {
    }

    /**
     * What the payload within {@code stored} proves.
     *
     * @param digest how the ledger's entries are secured; null when its metadata is gone, the payload's own first
     *     bytes then tell where it begins
     */
    static Evidence verify(ByteBuf stored, DigestType digest, long runId, long ledger, long entry) {
        if (stored == null) {
            return Evidence.NONE;
        }
        ByteBuffer whole = stored.nioBuffer(stored.readerIndex(), stored.readableBytes());
        return verify(whole, digest == null ? guess(whole) : digest, runId, ledger, entry);
    }

    private static Evidence verify(ByteBuffer whole, DigestType digest, long runId, long ledger, long entry) {
        int skipped = HEADER_BYTES + digestBytes(digest);
        if (whole.remaining() < skipped) {
            return Evidence.NONE;
        }
        return Payload.verify(whole.slice(skipped, whole.remaining() - skipped), runId, ledger, entry);
    }

    private static DigestType guess(ByteBuffer whole) {
        for (DigestType digest : DigestType.values()) {
            int skipped = HEADER_BYTES + digestBytes(digest);
            if (whole.remaining() >= skipped
                    && Payload.looksLikeOne(whole.slice(skipped, whole.remaining() - skipped))) {
                return digest;
            }
        }
        return DigestType.DUMMY;
    }

    private static int digestBytes(DigestType digest) {
        return switch (digest) {
            case MAC -> 20;
            case CRC32 -> 8;
            case CRC32C -> 4;
            case DUMMY -> 0;
        };
    }
}
