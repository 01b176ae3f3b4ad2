package fencepost.commands;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.BackgroundJob;
import fencepost.history.Flag;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.LedgerReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Follows a ledger: asks for the LAC, reads up to it, and so on until the ledger is closed or it is stopped. */
final class Tail implements BackgroundJob {
    private static final long PAUSE_MS = 20;
    private static final int BATCH = 100;

    private final Ledger ledger;
    private final LedgerReader reader;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile long next;
    private volatile int error;

    Tail(Ledger ledger) {
        this.ledger = ledger;
        this.reader = new LedgerReader(ledger, Flag.TAIL.code());
    }

    @Override
    public void run() throws InterruptedException {
        try {
            while (!step()) {
                if (stopped.await(PAUSE_MS, TimeUnit.MILLISECONDS)) {
                    break;
                }
            }
        } finally {
            ended.countDown();
        }
    }

    @Override
    public void stop() {
        stopped.countDown();
    }

    @Override
    public ObjectNode totals(long timeoutNs) throws InterruptedException {
        ended.await(timeoutNs, TimeUnit.NANOSECONDS);
        ObjectNode totals = JsonNodeFactory.instance.objectNode().put("read", next).put("lac", ledger.told());
        if (error != Errors.OK) {
            totals.put("error", Errors.name(error)).put("code", error);
        }
        return totals;
    }

    /** Reads what is new; returns whether the end of a closed ledger was reached. */
    private boolean step() throws InterruptedException {
        boolean closed = ledger.handle().isClosed();
        LastConfirmed lac = LastConfirmed.read(ledger, Flag.TAIL.code());
        if (lac.error() != Errors.OK) {
            error = lac.error();
            return false;
        }
        while (next <= lac.lac() && stopped.getCount() > 0) {
            long last = Math.min(lac.lac(), next + BATCH - 1);
            LedgerReader.Range range = reader.read(next, last);
            if (range.error() != Errors.OK) {
                error = range.error();
                return false;
            }
            next = last + 1;
        }
        return closed;
    }
}
