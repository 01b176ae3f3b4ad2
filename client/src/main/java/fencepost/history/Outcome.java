package fencepost.history;

/** How an operation ended. A slot without an outcome half never ended; that is code 0 and has no constant here. */
public enum Outcome {
    OK(1),
    /** Proven to have had no effect: refused before any byte left. */
    FAIL(2),
    /** It may or may not have happened. */
    UNKNOWN(3);

    private final int code;

    Outcome(int code) {
        this.code = code;
    }

    /** The number in the file. */
    public int code() {
        return code;
    }
}
