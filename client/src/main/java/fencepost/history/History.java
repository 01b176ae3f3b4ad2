package fencepost.history;

/** The record of everything that this client did, in the order in which it was invoked. Safe for many threads. */
public interface History extends AutoCloseable {
    /** Records an invocation; the caller makes the call only after this returns. */
    Pending begin(Invocation invocation);

    /** Records an operation that is over already, in one slot. */
    void record(Invocation invocation, long invokedNs, Completion completion);

    /** Number of slots used up to now; a client reports it at its end, so that a truncated history is detected. */
    long slots();

    /** Number of slots whose outcome was stored up to now; a client reports it at its end as well. */
    long ended();

    /** Number of ends that were not stored, because their operation had ended before; reported as well. */
    long repeated();

    /** Gives back what was prepared but not used. */
    @Override
    void close();

    /** A history that is not kept, to measure what keeping one costs. */
    static History none() {
        return new NoHistory();
    }
}
