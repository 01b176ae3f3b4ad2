package org.apache.bookkeeper.meta;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;

import java.net.InetSocketAddress;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.zookeeper.BoundExponentialBackoffRetryPolicy;
import org.apache.bookkeeper.zookeeper.RetryPolicy;
import org.apache.bookkeeper.zookeeper.ZooKeeperClient;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A worker whose session expired deletes the lock of the worker that has the ledger now. */
public class RepairUnlockedTest {

    private static final long LEDGER = 1;
    private static final String LOCK = "/ledgers/underreplication/locks/urL0000000001";

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private ServerCnxnFactory server;
    private ZooKeeperServer zooKeeper;
    private String address;

    @Before
    public void startZooKeeper() throws Exception {
        server = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        zooKeeper = new ZooKeeperServer(folder.newFolder(), folder.newFolder(), 200);
        server.startup(zooKeeper);
        address = "127.0.0.1:" + server.getLocalPort();
    }

    @After
    public void stopZooKeeper() {
        server.shutdown();
    }

    @Test
    public void closeAfterReleaseLeavesLockOfAnotherWorker() throws Exception {
        assertLockOfAnotherWorkerStays(false);
    }

    @Test
    public void closeAfterExpiryLeavesLockOfAnotherWorker() throws Exception {
        assertLockOfAnotherWorkerStays(true);
    }

    private void assertLockOfAnotherWorkerStays(boolean expires) throws Exception {
        try (ZooKeeperClient first = connect(); ZooKeeperClient second = connect()) {
            first.create("/ledgers", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            LedgerUnderreplicationManager one = locks(first);
            LedgerUnderreplicationManager another = locks(second);
            one.markLedgerUnderreplicated(LEDGER, "b1:3181");
            assertEquals(LEDGER, one.getLedgerToRereplicate());
            if (expires) {
                zooKeeper.closeSession(first.getSessionId());   // as it does when a session expires
            } else {
                one.releaseUnderreplicatedLedger(LEDGER);
            }
            assertEquals(LEDGER, another.getLedgerToRereplicate());
            one.close();
            assertNotNull("the lock of the other worker is gone", second.exists(LOCK, false));
        }
    }

    private ZooKeeperClient connect() throws Exception {
        // Without a limit, as of processes of autorecovery.
        RetryPolicy retries = new BoundExponentialBackoffRetryPolicy(100, 100, Integer.MAX_VALUE);
        return ZooKeeperClient.newBuilder().connectString(address).sessionTimeoutMs(10000)
                .operationRetryPolicy(retries).build();
    }

    private LedgerUnderreplicationManager locks(ZooKeeperClient client) throws Exception {
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri("zk+hierarchical://" + address + "/ledgers");
        return new ZkLedgerUnderreplicationManager(conf, client);
    }
}
