package fencepost.payload;

import fencepost.history.Proof;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * Entries that prove themselves: the header names the run, the writer, the ledger and the entry, and a checksum
 * covers all bytes, so that any reader can identify an entry without knowing what was written. Big-endian.
 */
public final class Payload {
    /** Smallest payload that can be made. */
    public static final int MIN_BYTES = 64;

    private static final int MAGIC = 0x46504531; // "FPE1"
    private static final int CLIENT = 4;
    private static final int RUN_ID = 8;
    private static final int LEDGER = 16;
    private static final int ENTRY = 24;
    private static final int SIZE = 32;
    private static final int CRC = 36;
    private static final int FILLER = 40;
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private Payload() {
    }

    /**
     * Makes the payload of one entry.
     *
     * @throws IllegalArgumentException if {@code sizeBytes} is below {@link #MIN_BYTES}
     */
    public static byte[] make(long runId, int client, long ledger, long entry, int sizeBytes) {
        if (sizeBytes < MIN_BYTES) {
            throw new IllegalArgumentException("a payload has at least " + MIN_BYTES + " bytes, not " + sizeBytes);
        }
        byte[] bytes = new byte[sizeBytes];
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.BIG_ENDIAN);
        buffer.putInt(0, MAGIC);
        buffer.putInt(CLIENT, client);
        buffer.putLong(RUN_ID, runId);
        buffer.putLong(LEDGER, ledger);
        buffer.putLong(ENTRY, entry);
        buffer.putInt(SIZE, sizeBytes);
        fill(buffer, runId ^ mix(ledger + GOLDEN) ^ mix(entry));
        buffer.putInt(CRC, checksum(buffer));
        return bytes;
    }

    /** What made bytes prove by themselves, for the history of the one who writes them. */
    public static Evidence evidence(byte[] payload, int client) {
        return new Evidence(Proof.PROVES_ITSELF, digest(ByteBuffer.wrap(payload)), client, payload.length);
    }

    /**
     * Returns what the remaining bytes of {@code bytes} prove when they were returned as {@code entry} of
     * {@code ledger} in run {@code runId}. The buffer's position is left as it is.
     */
    public static Evidence verify(ByteBuffer bytes, long runId, long ledger, long entry) {
        ByteBuffer payload = bytes.slice().order(ByteOrder.BIG_ENDIAN);
        int size = payload.remaining();
        long digest = digest(payload);
        if (!looksLikeOne(payload)) {
            return new Evidence(Proof.NONE, digest, 0, size);
        }
        int origin = payload.getInt(CLIENT);
        return new Evidence(proof(payload, runId, ledger, entry), digest, origin, size);
    }

    /** Whether the bytes begin as a payload does; they may be damaged all the same. */
    public static boolean looksLikeOne(ByteBuffer bytes) {
        ByteBuffer payload = bytes.slice().order(ByteOrder.BIG_ENDIAN);
        return payload.remaining() >= FILLER && payload.getInt(0) == MAGIC;
    }

    private static Proof proof(ByteBuffer payload, long runId, long ledger, long entry) {
        if (payload.getInt(SIZE) != payload.remaining() || payload.getInt(CRC) != checksum(payload)) {
            return Proof.DAMAGED;
        }
        boolean own = payload.getLong(RUN_ID) == runId
                && payload.getLong(LEDGER) == ledger
                && payload.getLong(ENTRY) == entry;
        return own ? Proof.PROVES_ITSELF : Proof.FOREIGN;
    }

    /** CRC-32C of everything but the checksum's own field. */
    private static int checksum(ByteBuffer payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload.slice(0, CRC));
        crc.update(payload.slice(FILLER, payload.limit() - FILLER));
        return (int) crc.getValue();
    }

    private static long digest(ByteBuffer payload) {
        CRC32C castagnoli = new CRC32C();
        castagnoli.update(payload.slice());
        CRC32 ieee = new CRC32();
        ieee.update(payload.slice());
        return castagnoli.getValue() << 32 | ieee.getValue();
    }

    /** A splitmix64 stream, eight bytes at a time. */
    private static void fill(ByteBuffer buffer, long seed) {
        long state = seed;
        int at = FILLER;
        for (; at + Long.BYTES <= buffer.limit(); at += Long.BYTES) {
            state += GOLDEN;
            buffer.putLong(at, mix(state));
        }
        long rest = mix(state + GOLDEN);
        for (; at < buffer.limit(); at++) {
            buffer.put(at, (byte) rest);
            rest >>>= Byte.SIZE;
        }
    }

    /** The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
    private static long mix(long value) {
        long z = (value ^ value >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }
}
