package fencepost.history;

/** The kind of an operation. The codes equal those in the evidence tables. */
public enum Kind {
    CREATE(1),
    ADD(2),
    CLOSE(3),
    OPEN(4),
    /** A requested range; each delivered entry is a separate {@link #ENTRY}. */
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
