package fencepost.history;

import java.util.concurrent.atomic.AtomicBoolean;

/** Records nothing. */
final class NoHistory implements History {
    @Override
    public Pending begin(Invocation invocation) {
        return new Unrecorded(System.nanoTime());
    }

    @Override
    public void record(Invocation invocation, long invokedNs, Completion completion) {
    }

    @Override
    public long slots() {
        return 0;
    }

    @Override
    public long ended() {
        return 0;
    }

    @Override
    public long repeated() {
        return 0;
    }

    @Override
    public void close() {
    }

    private static final class Unrecorded implements Pending {
        private final long invokedNs;
        private final AtomicBoolean completed = new AtomicBoolean();

        Unrecorded(long invokedNs) {
            this.invokedNs = invokedNs;
        }

        @Override
        public long seq() {
            return 0;
        }

        @Override
        public long invokedNs() {
            return invokedNs;
        }

        @Override
        public boolean complete(Completion completion) {
            return completed.compareAndSet(false, true);
        }
    }
}
