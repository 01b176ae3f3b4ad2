package fencepost.history;

/** The record of everything that this client did, in the order in which it was invoked. Safe for many threads. */
public interface History extends AutoCloseable {
    /** Records an invocation; the caller makes the call only after this returns. */
    Pending begin(Invocation invocation);

    /** Records an operation that is over already, in one slot. */
    void record(Invocation invocation, long invokedNs, Completion completion);

    /** How many slots were used so far; a client reports it at its end, so that a history that was cut is seen. */
    long slots();

    /** Gives back what was prepared but not used. */
    @Override
    void close();

    /** A history that is not kept, to measure what keeping one costs. */
    static History none() {
        return new NoHistory();
    }
}
