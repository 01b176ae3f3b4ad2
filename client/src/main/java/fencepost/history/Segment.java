package fencepost.history;

import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32;

/**
 * One file of a history, mapped into memory. What is stored here belongs to the kernel at once and outlives the
 * process, however it ends.
 */
final class Segment {
    private static final int ZEROS_BYTES = 1 << 20;

    private final Path path;
    private final MappedByteBuffer map;
    private final long firstSeq;

    private Segment(Path path, MappedByteBuffer map, long firstSeq) {
        this.path = path;
        this.map = map;
        this.firstSeq = firstSeq;
    }

    /**
     * Makes the file. It is filled with zeros on the disk before it is mapped: a full disk is then an error here,
     * and not a fault in the middle of a store.
     *
     * @throws IOException if the file exists or cannot be filled
     */
    static Segment create(Path directory, Identity identity, int number) throws IOException {
        Path path = directory.resolve(HistoryFormat.fileName(identity.client(), identity.boot(), number));
        long firstSeq = HistoryFormat.firstSeq(identity.boot(), number);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.CREATE_NEW)) {
            fillWithZeros(channel);
            MappedByteBuffer map = channel.map(FileChannel.MapMode.READ_WRITE, 0, HistoryFormat.FILE_BYTES);
            map.put(0, header(identity, firstSeq));
            return new Segment(path, map, firstSeq);
        }
    }

    private static void fillWithZeros(FileChannel channel) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect(ZEROS_BYTES);
        for (int left = HistoryFormat.FILE_BYTES; left > 0; ) {
            zeros.position(0).limit(Math.min(left, ZEROS_BYTES));
            left -= channel.write(zeros);
        }
    }

    private static byte[] header(Identity identity, long firstSeq) {
        byte[] bytes = new byte[HistoryFormat.SLOT_BYTES];
        ByteBuffer header = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        header.put(0, HistoryFormat.MAGIC.getBytes(StandardCharsets.US_ASCII));
        header.putInt(HistoryFormat.Header.VERSION, HistoryFormat.VERSION);
        header.putInt(HistoryFormat.Header.SLOT_SIZE, HistoryFormat.SLOT_BYTES);
        header.putLong(HistoryFormat.Header.RUN_ID, identity.runId());
        header.putLong(HistoryFormat.Header.FIRST_SEQ, firstSeq);
        header.putInt(HistoryFormat.Header.CLIENT, identity.number());
        header.putInt(HistoryFormat.Header.SLOTS, HistoryFormat.SLOTS);
        byte[] name = identity.client().getBytes(StandardCharsets.UTF_8);
        if (name.length > HistoryFormat.NAME_BYTES) {
            throw new IllegalArgumentException("the name " + identity.client() + " is too long");
        }
        header.put(HistoryFormat.Header.NAME, name);
        header.putInt(HistoryFormat.Header.CRC, crc(bytes, HistoryFormat.Header.CRC));
        return bytes;
    }

    long firstSeq() {
        return firstSeq;
    }

    /** Stores a slot's invocation half. */
    void invoked(int slot, long seq, long invokedNs, Invocation invocation) {
        byte[] bytes = new byte[HistoryFormat.HALF_BYTES];
        ByteBuffer half = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        half.putLong(HistoryFormat.Invoked.SEQ, seq);
        half.putLong(HistoryFormat.Invoked.NS, invokedNs);
        half.putLong(HistoryFormat.Invoked.LEDGER, invocation.ledger());
        half.putLong(HistoryFormat.Invoked.ENTRY, invocation.entry());
        half.putLong(HistoryFormat.Invoked.LAST, invocation.last());
        half.putLong(HistoryFormat.Invoked.LAC_BEFORE, invocation.lacBefore());
        half.putInt(HistoryFormat.Invoked.HANDLE, invocation.handle());
        half.putInt(HistoryFormat.Invoked.SIZE, invocation.sizeBytes());
        half.put(HistoryFormat.Invoked.KIND, (byte) invocation.kind().code());
        half.put(HistoryFormat.Invoked.FLAGS, (byte) invocation.flags());
        store(position(slot), bytes, half);
    }

    /** Stores a slot's outcome half. */
    void completed(int slot, long completedNs, Completion completion) {
        byte[] bytes = new byte[HistoryFormat.HALF_BYTES];
        ByteBuffer half = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        half.putLong(HistoryFormat.Completed.NS, completedNs);
        half.putLong(HistoryFormat.Completed.LEDGER, completion.ledger());
        half.putLong(HistoryFormat.Completed.ENTRY, completion.entry());
        half.putLong(HistoryFormat.Completed.LAC, completion.lac());
        half.putLong(HistoryFormat.Completed.EXPECTED, completion.expected());
        half.putLong(HistoryFormat.Completed.DIGEST, completion.payload().digest());
        half.putInt(HistoryFormat.Completed.ERROR, completion.error());
        half.putInt(HistoryFormat.Completed.ORIGIN, completion.payload().origin());
        half.put(HistoryFormat.Completed.OUTCOME, (byte) completion.outcome().code());
        half.put(HistoryFormat.Completed.PROOF, (byte) completion.payload().proof().code());
        store(position(slot) + HistoryFormat.HALF_BYTES, bytes, half);
    }

    /** Removes the file of a segment that was prepared and is not needed. */
    void discard() throws IOException {
        Files.deleteIfExists(path);
    }

    private void store(int position, byte[] bytes, ByteBuffer half) {
        half.putInt(HistoryFormat.HALF_CRC, crc(bytes, HistoryFormat.HALF_CRC));
        map.put(position, bytes);
        // Neither the compiler nor the processor may move a later store, or the call itself, before this one.
        VarHandle.fullFence();
    }

    private static int position(int slot) {
        return HistoryFormat.SLOT_BYTES * (1 + slot);
    }

    private static int crc(byte[] bytes, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }
}
