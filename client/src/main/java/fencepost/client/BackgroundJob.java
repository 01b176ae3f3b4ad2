package fencepost.client;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** Something that goes on with a handle until it is stopped. */
public interface BackgroundJob {
    /** Does the work; returns when it is done or stopped. */
    void run() throws InterruptedException;

    /** Asks it to begin nothing new. */
    void stop();

    /** Waits for operations in flight, at most {@code timeoutNs}, and returns the totals. */
    ObjectNode totals(long timeoutNs) throws InterruptedException;
}
