package fencepost.commands;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.BackgroundJob;
import fencepost.history.Outcome;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Tally;
import fencepost.ledgers.Writer;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;

/**
 * Adds entries to one ledger, a bounded number in flight, until there are enough, it is stopped, or an add does
 * not succeed: after that the handle is broken, and what is in flight is waited for.
 */
final class Appender implements BackgroundJob {
    private static final double NS_PER_S = 1e9;
    private static final long LONGEST_ARREARS_NS = 100_000_000;

    private final Writer writer;
    private final long entries;
    private final LongUnaryOperator ids;
    private final int sizeBytes;
    private final Semaphore window;
    private final long intervalNs;
    private final Writer copy;
    private final AtomicLong begun = new AtomicLong();
    private final Tally tally = new Tally();
    private final Tally copied = new Tally();
    private volatile boolean stopped;
    private volatile boolean idle;

    /**
     * Plans the work.
     *
     * @param entries how many; {@link Long#MAX_VALUE} until stopped
     * @param ids the id of the n-th entry, or null when the handle assigns ids
     * @param outstanding most adds in flight
     * @param ratePerS adds a second; 0 as fast as they go
     * @param copy what gets an entry in the callback of each acknowledged add, which then also issues the next
     *     add; or null
     */
    Appender(
            Writer writer, long entries, LongUnaryOperator ids, int sizeBytes, int outstanding, double ratePerS,
            Writer copy) {
        this.writer = writer;
        this.entries = entries;
        this.ids = ids;
        this.sizeBytes = sizeBytes;
        this.copy = copy;
        this.window = new Semaphore(outstanding);
        this.intervalNs = ratePerS > 0 ? (long) (NS_PER_S / ratePerS) : 0;
    }

    @Override
    public void run() throws InterruptedException {
        long due = System.nanoTime();
        try {
            long own = copy == null ? entries : Math.min(entries, window.availablePermits());
            begun.set(own);
            for (long i = 0; i < own && goesOn(); i++) {
                due = pace(due);
                window.acquire();
                if (!goesOn()) {
                    break;
                }
                tally.issued();
                if (ids == null) {
                    writer.add(sizeBytes, this::ended);
                } else {
                    writer.add(ids.applyAsLong(i), sizeBytes, this::ended);
                }
            }
        } finally {
            idle = true;
            tally.changed();
        }
        tally.await(t -> t.outstanding() == 0, Long.MAX_VALUE / 2);
        copied.await(t -> t.outstanding() == 0, Long.MAX_VALUE / 2);
    }

    @Override
    public void stop() {
        stopped = true;
    }

    @Override
    public ObjectNode totals(long timeoutNs) throws InterruptedException {
        tally.await(t -> idle && t.outstanding() == 0, timeoutNs);
        return totals();
    }

    /** The totals now. */
    ObjectNode totals() {
        return tally.into(JsonNodeFactory.instance.objectNode());
    }

    /** Code of the first error, 0 while there is none. */
    int firstError() {
        return tally.firstError() == Errors.OK ? copied.firstError() : tally.firstError();
    }

    private boolean goesOn() {
        return !stopped && firstError() == Errors.OK;
    }

    private void ended(Outcome outcome, int error, long entry) {
        if (copy != null && outcome == Outcome.OK) {
            copied.issued();
            copy.add(sizeBytes, copied::ended);
            if (begun.getAndIncrement() < entries && goesOn()) {
                tally.issued();
                writer.add(sizeBytes, this::ended);
            }
        }
        tally.ended(outcome, error, entry); // first, so that who gets the place knows of an error
        window.release();
    }

    /** Waits until {@code due} and tells when the next is; short arrears are made up for, long ones are not. */
    private long pace(long due) {
        if (intervalNs == 0) {
            return due;
        }
        for (long now = System.nanoTime(); now < due && goesOn(); now = System.nanoTime()) {
            LockSupport.parkNanos(due - now);
        }
        return Math.max(due, System.nanoTime() - LONGEST_ARREARS_NS) + intervalNs;
    }
}
