package fencepost.history;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * A history kept in memory-mapped files. Invocations are stored one after the other under one lock, so that a
 * process killed at any instant leaves at most the last one torn; outcomes are stored where their slots are.
 */
public final class FileHistory implements History {
    private final Path directory;
    private final Identity identity;
    private final Consumer<HistoryException> lost;
    private final ExecutorService preparer = Executors.newSingleThreadExecutor(FileHistory::preparerThread);
    private final Object lock = new Object();
    private final LongAdder ended = new LongAdder();
    private final LongAdder repeated = new LongAdder();

    private Segment segment;
    private int number = 1;
    private int used;
    private Future<Segment> next;

    /**
     * Opens the history of one boot.
     *
     * @param lost called on the failing thread when nothing more can be recorded, before the exception is thrown
     * @throws IOException if the first segment cannot be made, also if this boot has a history already
     */
    public FileHistory(Path directory, Identity identity, Consumer<HistoryException> lost) throws IOException {
        this.directory = directory;
        this.identity = identity;
        this.lost = lost;
        this.segment = Segment.create(directory, identity, number);
        this.next = prepare(number + 1);
    }

    @Override
    public Pending begin(Invocation invocation) {
        synchronized (lock) {
            int slot = claim();
            long seq = segment.firstSeq() + slot;
            long invokedNs = System.nanoTime();
            segment.invoked(slot, seq, invokedNs, invocation);
            return new Recorded(segment, slot, seq, invokedNs);
        }
    }

    @Override
    public void record(Invocation invocation, long invokedNs, Completion completion) {
        synchronized (lock) {
            int slot = claim();
            segment.invoked(slot, segment.firstSeq() + slot, invokedNs, invocation);
            segment.completed(slot, System.nanoTime(), completion);
            ended.increment();
        }
    }

    @Override
    public long ended() {
        return ended.sum();
    }

    @Override
    public long repeated() {
        return repeated.sum();
    }

    @Override
    public long slots() {
        synchronized (lock) {
            return (number - 1L) * HistoryFormat.SLOTS + used;
        }
    }

    @Override
    public void close() {
        synchronized (lock) {
            preparer.shutdown();
            try {
                next.get().discard();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException | IOException e) {
                throw new HistoryException("cannot give back segment " + (number + 1), e);
            }
        }
    }

    /** The next free slot of {@link #segment}, which it replaces when it is full. */
    private int claim() {
        if (used == HistoryFormat.SLOTS) {
            segment = prepared();
            number++;
            used = 0;
            next = prepare(number + 1);
        }
        return used++;
    }

    private Segment prepared() {
        try {
            return next.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw lost("interrupted while waiting for", e);
        } catch (ExecutionException e) {
            throw lost("cannot make", e.getCause());
        }
    }

    private HistoryException lost(String what, Throwable cause) {
        HistoryException exception = new HistoryException(what + " segment " + (number + 1) + ": " + cause, cause);
        lost.accept(exception);
        return exception;
    }

    private Future<Segment> prepare(int segmentNumber) {
        return preparer.submit(() -> Segment.create(directory, identity, segmentNumber));
    }

    private static Thread preparerThread(Runnable work) {
        Thread thread = new Thread(work, "history-preparer");
        thread.setDaemon(true);
        return thread;
    }

    private final class Recorded implements Pending {
        private static final AtomicIntegerFieldUpdater<Recorded> ENDS =
                AtomicIntegerFieldUpdater.newUpdater(Recorded.class, "ends");

        private final Segment segment;
        private final int slot;
        private final long seq;
        private final long invokedNs;
        @SuppressWarnings("unused") // through ENDS
        private volatile int ends;

        Recorded(Segment segment, int slot, long seq, long invokedNs) {
            this.segment = segment;
            this.slot = slot;
            this.seq = seq;
            this.invokedNs = invokedNs;
        }

        @Override
        public long seq() {
            return seq;
        }

        @Override
        public long invokedNs() {
            return invokedNs;
        }

        @Override
        public boolean complete(Completion completion) {
            if (!ENDS.compareAndSet(this, 0, 1)) {
                repeated.increment();
                return false;
            }
            segment.completed(slot, System.nanoTime(), completion);
            ended.increment(); // after it is stored, so that the files never hold fewer than the number says
            return true;
        }
    }
}
