package fencepost.chains;

import fencepost.observer.MetadataStore;
import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Where logs keep the lists of their ledgers: a znode each, written by compare-and-set on its version, as managed
 * ledgers do. Each call uses a separate session, so that no session outlives a pause or a cut.
 */
public final class ChainStore {
    private static final String FOLDER = "/fencepost/chains";

    private final String address;

    /** A store in the ZooKeeper at {@code address}. */
    public ChainStore(String address) {
        this.address = address;
    }

    /** The list of one log as it is now. */
    public ChainList read(String name) throws IOException, KeeperException, InterruptedException {
        try (MetadataStore store = MetadataStore.connect(address, event -> { })) {
            Stat stat = new Stat();
            byte[] data = store.zookeeper().getData(path(name), false, stat);
            return ChainList.parse(data, stat.getVersion(), stat.getCzxid());
        } catch (KeeperException.NoNodeException e) {
            return ChainList.absent();
        }
    }

    /**
     * Writes the list of a log if no other client has written it since {@code version}.
     *
     * @return the new version; empty when another client has written it
     */
    public OptionalInt write(String name, List<Long> ledgers, int version)
            throws IOException, KeeperException, InterruptedException {
        try (MetadataStore store = MetadataStore.connect(address, event -> { })) {
            byte[] data = ChainList.bytes(ledgers);
            if (version == ChainList.NONE) {
                folders(store.zookeeper());
                create(store.zookeeper(), path(name), data);
                return OptionalInt.of(0);
            }
            return OptionalInt.of(store.zookeeper().setData(path(name), data, version).getVersion());
        } catch (KeeperException.BadVersionException | KeeperException.NodeExistsException
                | KeeperException.NoNodeException e) {
            return OptionalInt.empty();
        }
    }

    private static void folders(ZooKeeper zookeeper) throws KeeperException, InterruptedException {
        for (int end = FOLDER.indexOf('/', 1); ; end = FOLDER.length()) {
            try {
                create(zookeeper, FOLDER.substring(0, end), new byte[0]);
            } catch (KeeperException.NodeExistsException e) {
                // Another client created it before.
            }
            if (end == FOLDER.length()) {
                return;
            }
        }
    }

    private static void create(ZooKeeper zookeeper, String path, byte[] data)
            throws KeeperException, InterruptedException {
        zookeeper.create(path, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }

    private static String path(String name) {
        return FOLDER + "/" + name;
    }
}
