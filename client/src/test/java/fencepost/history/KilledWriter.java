package fencepost.history;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/** A process that records for ever, and says now and then how far its threads have surely come. */
final class KilledWriter {
    private static final int THREADS = 3;
    private static final int WINDOW = 50;

    private KilledWriter() {
    }

    public static void main(String[] args) throws Exception {
        FileHistory history = new FileHistory(Path.of(args[0]), new Identity("writer", 101, 1, 1), lost -> { });
        AtomicLong recorded = new AtomicLong();
        for (int thread = 0; thread < THREADS; thread++) {
            new Thread(() -> {
                Pending[] window = new Pending[WINDOW];
                for (long entry = 0; ; entry++) {
                    int at = (int) (entry % WINDOW);
                    if (window[at] != null) {
                        window[at].complete(Completion.ok(1).telling(entry, entry));
                    }
                    window[at] = history.begin(Invocation.of(Kind.ADD, 0, 1).about(entry, -1));
                    recorded.accumulateAndGet(window[at].seq(), Math::max);
                }
            }).start();
        }
        while (true) {
            System.out.println(recorded.get());
            System.out.flush();
        }
    }
}
