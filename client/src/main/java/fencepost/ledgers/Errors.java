package fencepost.ledgers;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.bookkeeper.client.BKException;

/** BookKeeper's error codes and their names. */
public final class Errors {
    /** Nothing went wrong. */
    public static final int OK = BKException.Code.OK;
    /** An error that is none of BookKeeper's own. */
    public static final int UNEXPECTED = BKException.Code.UnexpectedConditionException;

    private Errors() {
    }

    /** {@code LedgerFenced} for {@code BKException.BKLedgerFencedException}. */
    public static String name(int code) {
        String name = BKException.create(code).getClass().getSimpleName();
        return name.replaceFirst("^BK", "").replaceFirst("Exception$", "");
    }

    /** BookKeeper's own sentence for a code. */
    public static String message(int code) {
        return BKException.getMessage(code);
    }

    /** The code behind a failed future. */
    public static int code(Throwable thrown) {
        Throwable cause = thrown;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        // The class that BookKeeper's old and new interfaces share.
        return cause instanceof org.apache.bookkeeper.client.api.BKException known ? known.getCode() : UNEXPECTED;
    }
}
