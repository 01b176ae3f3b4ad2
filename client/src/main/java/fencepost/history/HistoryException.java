package fencepost.history;

/** The history cannot be kept any longer; a client that cannot record must not act. */
public final class HistoryException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With what was attempted, and why it did not work. */
    public HistoryException(String message, Throwable cause) {
        super(message, cause);
    }
}
