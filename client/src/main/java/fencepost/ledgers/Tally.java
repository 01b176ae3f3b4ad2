package fencepost.ledgers;

import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.history.Outcome;
import java.util.function.Predicate;

/** Counts the results of adds, and lets other threads wait for a count. Thread-safe. */
public final class Tally {
    private long issued;
    private long acked;
    private long unknown;
    private long failed;
    private long lastAcked = Ledger.NONE;
    private int firstError;

    /** An add was issued. */
    public synchronized void issued() {
        issued++;
    }

    /** An add ended. */
    public synchronized void ended(Outcome outcome, int error, long entry) {
        switch (outcome) {
            case OK -> {
                acked++;
                lastAcked = Math.max(lastAcked, entry);
            }
            case FAIL -> failed++;
            case UNKNOWN -> unknown++;
        }
        if (outcome != Outcome.OK && firstError == Errors.OK) {
            firstError = error;
        }
        notifyAll();
    }

    /** Adds acknowledged. */
    public synchronized long acked() {
        return acked;
    }

    /** Adds issued that have not ended. */
    public synchronized long outstanding() {
        return issued - acked - unknown - failed;
    }

    /** Highest id acknowledged, -1 before. */
    public synchronized long lastAcked() {
        return lastAcked;
    }

    /** Code of the first error, 0 while there is none. */
    public synchronized int firstError() {
        return firstError;
    }

    /** What a condition asks for beside the counts has changed. */
    public synchronized void changed() {
        notifyAll();
    }

    /**
     * Waits until {@code condition} holds.
     *
     * @return whether it does; false when {@code timeoutNs} passed first
     */
    public synchronized boolean await(Predicate<Tally> condition, long timeoutNs) throws InterruptedException {
        long deadline = System.nanoTime() + timeoutNs;
        while (!condition.test(this)) {
            long leftMs = (deadline - System.nanoTime()) / 1_000_000;
            if (leftMs <= 0) {
                return false;
            }
            wait(leftMs);
        }
        return true;
    }

    /** Writes the totals, and the first error if there was one, into a reply. */
    public synchronized ObjectNode into(ObjectNode reply) {
        reply.put("acked", acked).put("unknown", unknown).put("failed", failed).put("last_acked", lastAcked);
        reply.put("outstanding", outstanding());
        if (firstError != Errors.OK) {
            reply.put("error", Errors.name(firstError)).put("code", firstError);
        }
        return reply;
    }
}
