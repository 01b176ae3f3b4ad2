package fencepost.observer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;

/** A session of our own with ZooKeeper, apart from the one of BookKeeper's client. */
public final class MetadataStore implements AutoCloseable {
    private static final int SESSION_MS = 10_000;

    private final ZooKeeper zookeeper;

    private MetadataStore(ZooKeeper zookeeper) {
        this.zookeeper = zookeeper;
    }

    /**
     * Connects, with {@code watcher} for the session's events.
     *
     * @throws IOException when there is no connection in the time of a session
     */
    public static MetadataStore connect(String address, Watcher watcher) throws IOException, InterruptedException {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zookeeper = new ZooKeeper(address, SESSION_MS, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
            watcher.process(event);
        });
        if (!connected.await(SESSION_MS, TimeUnit.MILLISECONDS)) {
            zookeeper.close();
            throw new IOException("no connection to ZooKeeper at " + address + " in " + SESSION_MS + " ms");
        }
        return new MetadataStore(zookeeper);
    }

    /** The session itself. */
    public ZooKeeper zookeeper() {
        return zookeeper;
    }

    /** The paths of all ledgers, in no order. */
    List<String> ledgers() throws KeeperException, InterruptedException {
        List<String> found = new ArrayList<>();
        walk(LedgerPaths.ROOT, found);
        return found;
    }

    private void walk(String path, List<String> found) throws KeeperException, InterruptedException {
        List<String> children;
        try {
            children = zookeeper.getChildren(path, false);
        } catch (KeeperException.NoNodeException e) {
            return; // deleted meanwhile
        }
        for (String child : children) {
            String below = path + "/" + child;
            if (LedgerPaths.ledger(below).isPresent()) {
                found.add(below);
            } else if (LedgerPaths.isBranch(below)) {
                walk(below, found);
            }
        }
    }

    @Override
    public void close() {
        try {
            zookeeper.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
