package fencepost.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.history.Outcome;
import fencepost.ledgers.Errors;
import java.util.Locale;

/** A command that did not succeed, in the words of the reply. */
public final class CommandException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String error;
    private final transient Integer code;
    private final transient Outcome outcome;
    private final transient ObjectNode fields;

    private CommandException(String error, Integer code, Outcome outcome, String message, ObjectNode fields) {
        super(message);
        this.error = error;
        this.code = code;
        this.outcome = outcome;
        this.fields = fields;
    }

    /** BookKeeper said no, with the code of {@code BKException}. */
    public static CommandException bookkeeper(int code, Outcome outcome, String what) {
        return bookkeeper(code, outcome, what, Replies.object());
    }

    /** The same, with what was achieved before. */
    public static CommandException bookkeeper(int code, Outcome outcome, String what, ObjectNode fields) {
        String message = what + ": " + Errors.message(code);
        return new CommandException(Errors.name(code), code, outcome, message, fields);
    }

    /** The command itself is wrong; nothing was done. */
    public static CommandException badRequest(String message) {
        return new CommandException("BadRequest", null, Outcome.FAIL, message, Replies.object());
    }

    /** What was waited for did not come in time. */
    public static CommandException timeout(String message, ObjectNode fields) {
        return new CommandException("Timeout", null, Outcome.UNKNOWN, message, fields);
    }

    /** Anything else, by the name of the exception. */
    static CommandException unexpected(Throwable cause) {
        return new CommandException(
                cause.getClass().getSimpleName(), null, Outcome.UNKNOWN, String.valueOf(cause.getMessage()),
                Replies.object());
    }

    /** The name of the error. */
    public String error() {
        return error;
    }

    /** The code of {@code BKException}, or null when it was no error of BookKeeper's. */
    public Integer code() {
        return code;
    }

    /** The reply's fields. */
    ObjectNode reply() {
        ObjectNode reply = fields.deepCopy();
        reply.put("ok", false).put("error", error).put("code", code).put("message", getMessage());
        return reply.put("outcome", outcome.name().toLowerCase(Locale.ROOT));
    }
}
