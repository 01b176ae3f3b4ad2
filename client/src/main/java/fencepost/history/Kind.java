package fencepost.history;

/** What an operation was. The codes are those of the evidence tables. */
public enum Kind {
    CREATE(1),
    ADD(2),
    CLOSE(3),
    OPEN(4),
    /** A range asked for; each entry delivered is an {@link #ENTRY} of its own. */
    READ(5),
    ENTRY(6),
    LAC(7),
    DELETE(8),
    FORCE(9),
    /** One entry asked from one bookie. */
    CENSUS(10),
    /** One version of a ledger's metadata that was seen. */
    WATCHED(11),
    WRITE_LAC(12),
    /** One pass through a log of ledgers; what it reads has its handle. */
    PASS(13);

    private final int code;

    Kind(int code) {
        this.code = code;
    }

    /** The number in the file. */
    public int code() {
        return code;
    }
}
