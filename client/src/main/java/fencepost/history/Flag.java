package fencepost.history;

/** How an operation was asked for; codes are bits and may be combined. */
public enum Flag {
    DEFERRED_SYNC(1),
    /** An open that fences and recovers. */
    RECOVERY(2),
    /** A read that may go beyond the last add confirmed. */
    UNCONFIRMED(4),
    TAIL(8),
    /** One of the observer's reads that decide what is kept. */
    FINAL(16),
    /** A handle whose entry ids are given by the caller. */
    ADV(32),
    /** Part of a pass through a log of ledgers. */
    PASS(64),
    /** A read of a batch, which may deliver less than it asks for. */
    BATCH(128);

    private final int code;

    Flag(int code) {
        this.code = code;
    }

    /** The bit in the file. */
    public int code() {
        return code;
    }
}
