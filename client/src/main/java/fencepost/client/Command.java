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

    /** Tells the caller of a long command how far it has come. */
    @FunctionalInterface
    interface Progress {
        /** Sends an event of this command with the given fields. */
        void report(ObjectNode fields);
    }
}
