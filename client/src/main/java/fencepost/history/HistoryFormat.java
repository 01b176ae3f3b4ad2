package fencepost.history;

/**
 * The layout of a history file: numbers only, shared by all code that writes or reads history files.
 *
 * <p>A file is one header and a fixed number of slots, all little-endian. A slot is one operation: an invocation
 * half, stored before the call, and an outcome half, stored before its callback returns. Each half ends in the
 * CRC-32 of the bytes before it. A file is filled with zeros before its first use, so a half that was never
 * written is all zero.
 */
public final class HistoryFormat {
    /** First bytes of every file. */
    public static final String MAGIC = "FPHIST1\n";
    /** Version of the layout. */
    public static final int VERSION = 1;
    /** Size of a slot and of the header. */
    public static final int SLOT_BYTES = 128;
    /** Size of each half of a slot. */
    public static final int HALF_BYTES = SLOT_BYTES / 2;
    /** Offset of the CRC within a half. */
    public static final int HALF_CRC = HALF_BYTES - Integer.BYTES;
    /** Slots of one file. */
    public static final int SLOTS = 65_536;
    /** Size of a whole file. */
    public static final int FILE_BYTES = SLOT_BYTES + SLOTS * SLOT_BYTES;
    /** Longest name of a client in the header. */
    public static final int NAME_BYTES = 32;
    /** The number of bits by which the boot number is shifted above the counter in a sequence number. */
    public static final int BOOT_SHIFT = 40;
    /** The same for a handle's number. */
    public static final int HANDLE_BOOT_SHIFT = 20;

    /** Offsets of the header's fields. */
    static final class Header {
        static final int VERSION = 8;
        static final int SLOT_SIZE = 12;
        static final int RUN_ID = 16;
        static final int FIRST_SEQ = 24;
        static final int CLIENT = 32;
        static final int SLOTS = 36;
        static final int NAME = 40;
        static final int CRC = SLOT_BYTES - Integer.BYTES;

        private Header() {
        }
    }

    /** Offsets of the invocation half's fields, within the half. */
    static final class Invoked {
        static final int SEQ = 0;
        static final int NS = 8;
        static final int LEDGER = 16;
        static final int ENTRY = 24;
        static final int LAST = 32;
        static final int LAC_BEFORE = 40;
        static final int HANDLE = 48;
        static final int SIZE = 52;
        static final int KIND = 56;
        static final int FLAGS = 57;

        private Invoked() {
        }
    }

    /** Offsets of the outcome half's fields, within the half. */
    static final class Completed {
        static final int NS = 0;
        static final int LEDGER = 8;
        static final int ENTRY = 16;
        static final int LAC = 24;
        static final int EXPECTED = 32;
        static final int DIGEST = 40;
        static final int ERROR = 48;
        static final int ORIGIN = 52;
        static final int OUTCOME = 56;
        static final int PROOF = 57;

        private Completed() {
        }
    }

    private HistoryFormat() {
    }

    /** The name of a segment's file; segments are numbered from 1 within each boot. */
    public static String fileName(String client, int boot, int segment) {
        return String.format("%s-%03d-%06d.hist", client, boot, segment);
    }

    /** The first sequence number of a boot's segment. */
    public static long firstSeq(int boot, int segment) {
        return ((long) boot << BOOT_SHIFT) + 1 + (long) (segment - 1) * SLOTS;
    }
}
