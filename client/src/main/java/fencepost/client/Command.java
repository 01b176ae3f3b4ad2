package fencepost.client;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** Something that a caller can ask this client to do. */
@FunctionalInterface
public interface Command {
    /**
     * Does it and returns the reply's fields.
     *
     * @throws CommandException if it did not succeed; the reply then says so
     */
    ObjectNode run(Parameters parameters, Progress progress) throws CommandException, InterruptedException;

    /** Reports the progress of a long command to the caller. */
    @FunctionalInterface
    interface Progress {
        /** Sends an event of this command with the given fields. */
        void report(ObjectNode fields);
    }
}
