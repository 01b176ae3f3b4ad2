package fencepost.history;

/** What the bytes of a payload say about themselves. */
public enum Proof {
    /** There was no payload, or what came is none. */
    NONE(0),
    PROVES_ITSELF(1),
    /** A payload by its first bytes, but its checksum disagrees. */
    DAMAGED(2),
    /** A sound payload of another run, ledger or entry. */
    FOREIGN(3);

    private final int code;

    Proof(int code) {
        this.code = code;
    }

    /** The number in the file. */
    public int code() {
        return code;
    }
}
