package fencepost.observer;

import fencepost.history.Completion;
import fencepost.history.History;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.payload.Evidence;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.meta.LedgerMetadataSerDe;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;

/**
 * Follows the metadata of all ledgers. Each version that is seen becomes a slot: the version was in force at some
 * time between the slot's two times. Versions that follow each other faster than they can be read are not seen;
 * ZooKeeper's transaction log has them all.
 */
final class MetadataWatch {
    private static final long RETRY_MS = 200;
    /** State of a ledger that is gone; the others have BookKeeper's own numbers. */
    private static final int DELETED = 0;

    private final String address;
    private final History history;
    private final LedgerMetadataSerDe format = new LedgerMetadataSerDe();
    private final Map<Long, Integer> seen = new ConcurrentHashMap<>();
    private final ExecutorService scans = Executors.newSingleThreadExecutor(MetadataWatch::scanThread);
    private volatile MetadataStore store;

    MetadataWatch(String address, History history) {
        this.address = address;
        this.history = history;
    }

    /** Begins to follow; returns the number of ledgers that there are, each of which was read or is being read. */
    int start() throws IOException, KeeperException, InterruptedException {
        MetadataStore connected = MetadataStore.connect(address, this::sessionEvent);
        connected.zookeeper().addWatch(LedgerPaths.ROOT, this::ledgerEvent, AddWatchMode.PERSISTENT_RECURSIVE);
        store = connected;
        return scan();
    }

    /** Reads every ledger that there is; what it finds unchanged leaves no slot. */
    private int scan() throws KeeperException, InterruptedException {
        Set<Long> missing = new HashSet<>(seen.keySet()); // before the list: what is created after it is not gone
        long askedNs = System.nanoTime();
        List<String> paths = store.ledgers();
        paths.forEach(this::read);
        paths.forEach(path -> LedgerPaths.ledger(path).ifPresent(missing::remove));
        missing.forEach(ledger -> gone(ledger, askedNs));
        return paths.size();
    }

    private void ledgerEvent(WatchedEvent event) {
        if (event.getType() == EventType.None) {
            return; // the session's own watcher receives it too
        }
        if (LedgerPaths.ledger(event.getPath()).isPresent()) {
            read(event.getPath());
        }
    }

    private void sessionEvent(WatchedEvent event) {
        if (event.getType() != EventType.None || store == null) {
            return;
        }
        if (event.getState() == KeeperState.SyncConnected) {
            // Watches do not report changes that happened while the connection was lost.
            scans.execute(() -> again(false));
        } else if (event.getState() == KeeperState.Expired) {
            scans.execute(() -> again(true));
        }
    }

    /** Looks at everything again, if need be in a new session; tries until it works or the process ends. */
    private void again(boolean newSession) {
        boolean done = false;
        while (!done) {
            try {
                if (newSession) {
                    store.close();
                    start();
                } else {
                    scan();
                }
                done = true;
            } catch (KeeperException.SessionExpiredException e) {
                return; // its own event brings a new session
            } catch (IOException | KeeperException e) {
                pause();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(RETRY_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void read(String path) {
        long ledger = LedgerPaths.ledger(path).orElseThrow();
        long invokedNs = System.nanoTime();
        store.zookeeper().getData(path, false, (rc, p, context, data, stat) -> {
            KeeperException.Code code = KeeperException.Code.get(rc);
            if (code == KeeperException.Code.OK) {
                version(ledger, invokedNs, data, stat.getVersion());
            } else if (code == KeeperException.Code.NONODE) {
                gone(ledger, invokedNs);
            }
            // Any other end is a lost connection: all is read again when it is back.
        }, null);
    }

    private void version(long ledger, long invokedNs, byte[] data, int version) {
        Integer before = seen.put(ledger, version);
        if (before != null && before == version) {
            return;
        }
        try {
            LedgerMetadata metadata = format.parseConfig(data, ledger, Optional.empty());
            long last = metadata.isClosed() ? metadata.getLastEntryId() : -1;
            record(ledger, invokedNs, version, last, metadata.getState().ordinal() + 1);
        } catch (IOException e) {
            System.err.println("metadata of ledger " + ledger + " version " + version + " cannot be read: " + e);
        }
    }

    private void gone(long ledger, long invokedNs) {
        if (seen.remove(ledger) != null) {
            record(ledger, invokedNs, -1, -1, DELETED);
        }
    }

    private void record(long ledger, long invokedNs, long version, long lastEntry, long state) {
        history.record(
                Invocation.of(Kind.WATCHED, 0, ledger).about(-1, version), invokedNs,
                new Completion(Outcome.OK, 0, ledger, lastEntry, state, -1, Evidence.NONE));
    }

    private static Thread scanThread(Runnable work) {
        Thread thread = new Thread(work, "metadata-scan");
        thread.setDaemon(true);
        return thread;
    }
}
