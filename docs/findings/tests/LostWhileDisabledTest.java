package org.apache.bookkeeper.replication;

import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.concurrent.Future;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.client.LedgerMetadataBuilder;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.meta.LedgerManager;
import org.apache.bookkeeper.meta.LedgerManagerFactory;
import org.apache.bookkeeper.meta.LedgerUnderreplicationManager;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A bookie that returns and is lost again while autorecovery is disabled is neither new nor lost. */
public class LostWhileDisabledTest {

    private static final long LEDGER = 1;
    private static final BookieId BOOKIE = BookieId.parse("b1:3181");
    private static final String REGISTRATION = "/ledgers/available/" + BOOKIE;

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private ServerCnxnFactory server;

    @Before
    public void startZooKeeper() throws Exception {
        server = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        server.startup(new ZooKeeperServer(folder.newFolder(), folder.newFolder(), 200));
    }

    @After
    public void stopZooKeeper() {
        server.shutdown();
    }

    @Test
    public void bookieLostAgainIsAudited() throws Exception {
        assertLostBookieIsAudited(false);
    }

    @Test
    public void bookieLostAgainWhileDisabledIsAudited() throws Exception {
        assertLostBookieIsAudited(true);
    }

    private void assertLostBookieIsAudited(boolean disabled) throws Exception {
        String address = "127.0.0.1:" + server.getLocalPort();
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri("zk+hierarchical://" + address + "/ledgers");
        conf.setAuditorPeriodicCheckInterval(0);
        assertTrue(BookKeeperAdmin.initNewCluster(conf));
        try (ZooKeeper zk = new ZooKeeper(address, 10000, event -> { });
                BookKeeper client = Auditor.createBookKeeperClient(conf);
                Unwatched auditor = new Unwatched(conf)) {
            LedgerManagerFactory metadata = client.getMetadataClientDriver().getLedgerManagerFactory();
            LedgerUnderreplicationManager marks = metadata.newLedgerUnderreplicationManager();
            zk.create("/ledgers/cookies", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            auditor.start();
            register(zk);
            auditor.audit().get();
            zk.delete(REGISTRATION, -1);
            auditor.audit().get();          // the bookie is lost
            if (disabled) {
                marks.disableLedgerReplication();
            }
            register(zk);
            Future<?> back = auditor.audit();         // the bookie is back
            if (!disabled) {
                back.get();
            }
            try (LedgerManager ledgers = metadata.newLedgerManager()) {
                ledgers.createLedgerMetadata(LEDGER, LedgerMetadataBuilder.create()
                        .withId(LEDGER).withEnsembleSize(1).withWriteQuorumSize(1).withAckQuorumSize(1)
                        .withDigestType(DigestType.CRC32C).withPassword(new byte[0])
                        .newEnsembleEntry(0, Collections.singletonList(BOOKIE)).build()).get();
            }
            zk.delete(REGISTRATION, -1);              // it is lost again
            if (disabled) {
                marks.enableLedgerReplication();
            }
            auditor.audit().get();
            assertNotNull("the ledger is not marked", marks.getLedgerUnreplicationInfo(LEDGER));
        }
    }

    /** Audits when it is called, and not for each change that it sees: that task may end at any time. */
    private static final class Unwatched extends Auditor {
        Unwatched(ServerConfiguration conf) throws ReplicationException {
            super("auditor", conf, NullStatsLogger.INSTANCE);
        }

        @Override
        Future<?> submitAuditTask() {
            return null;
        }

        Future<?> audit() {
            return super.submitAuditTask();
        }
    }

    private static void register(ZooKeeper zk) throws Exception {
        zk.create(REGISTRATION, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
    }
}
