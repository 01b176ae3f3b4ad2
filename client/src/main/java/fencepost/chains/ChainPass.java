package fencepost.chains;

import fencepost.client.CommandException;
import fencepost.client.Session;
import fencepost.history.Completion;
import fencepost.history.Flag;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import fencepost.ledgers.LedgerReader;
import fencepost.payload.Evidence;
import java.io.IOException;
import org.apache.bookkeeper.client.BKException;
import org.apache.zookeeper.KeeperException;

/**
 * One pass through a log: the list of its ledgers, then each from its first entry to its last, the open one to its
 * LAC. It is a separate operation; everything that it opens and reads has its handle's number.
 */
public final class ChainPass {
    private static final int BATCH = 100;

    private final Session session;
    private final ChainStore store;

    /** Passes of {@code session}. */
    public ChainPass(Session session, ChainStore store) {
        this.session = session;
        this.store = store;
    }

    /**
     * Reads the whole log.
     *
     * @return how many entries it has
     * @throws CommandException when any part of it cannot be read
     */
    public long read(String name) throws CommandException, InterruptedException {
        int number = session.newHandleNumber();
        Pending pending = session.history().begin(
                Invocation.onHandle(Kind.PASS, Flag.PASS.code(), Ledger.NONE, number, Ledger.NONE));
        Reading reading = new Reading(number);
        try {
            ChainList list = reading.list(name);
            for (long ledger : list.ledgers()) {
                reading.ledger(ledger);
            }
            pending.complete(new Completion(
                    Outcome.OK, Errors.OK, Ledger.NONE, reading.delivered, Ledger.NONE, list.born(), Evidence.NONE));
            return reading.delivered;
        } catch (CommandException e) {
            int code = e.code() == null ? Errors.UNEXPECTED : e.code();
            pending.complete(Completion.failed(Outcome.UNKNOWN, code, Ledger.NONE));
            throw e;
        }
    }

    /** What one pass has read up to now. */
    private final class Reading {
        private final int number;
        private long delivered;

        Reading(int number) {
            this.number = number;
        }

        ChainList list(String name) throws CommandException, InterruptedException {
            try {
                return store.read(name);
            } catch (IOException | KeeperException e) {
                throw CommandException.bookkeeper(BKException.Code.ZKException, Outcome.UNKNOWN,
                        "the list of log " + name + " cannot be read (" + e.getMessage() + ")");
            }
        }

        void ledger(long id) throws CommandException, InterruptedException {
            Ledger ledger = session.open(id, Flag.PASS.code(), number);
            // Of a closed ledger this is its last entry.
            long last = ledger.told();
            LedgerReader.Range range = new LedgerReader(ledger, Flag.PASS.code()).readAll(0, last, BATCH);
            ledger.handle().closeAsync();
            delivered += range.delivered();
            if (range.error() != Errors.OK) {
                throw CommandException.bookkeeper(
                        range.error(), Outcome.UNKNOWN, "ledger " + id + " was not read to the end");
            }
        }
    }
}
