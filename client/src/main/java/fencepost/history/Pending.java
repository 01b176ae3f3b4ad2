package fencepost.history;

/** An operation whose invocation is recorded. */
public interface Pending {
    /** Its sequence number, 0 when nothing is recorded. */
    long seq();

    /** When it was invoked, by {@link System#nanoTime()}. */
    long invokedNs();

    /**
     * Records its end; returns when the record would survive the end of this process. An operation ends once:
     * a second end is not recorded.
     *
     * @return whether this was the first end
     */
    boolean complete(Completion completion);
}
