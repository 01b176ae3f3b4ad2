package org.apache.bookkeeper.meta;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.zookeeper.RetryPolicy;
import org.apache.bookkeeper.zookeeper.ZooKeeperClient;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.DataTree.ProcessTxnResult;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ServerCnxn.DisconnectReason;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** A worker whose removal of a mark got no answer repeats it, and removes the mark that was made meanwhile. */
public class MarkDeletedTwiceTest {

    private static final long LEDGER = 1;
    private static final String MARK = "/ledgers/underreplication/ledgers/0000/0000/0000/0001/urL0000000001";

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();
    private final AtomicBoolean loseAnswer = new AtomicBoolean();
    private final AtomicBoolean lost = new AtomicBoolean();
    private ServerCnxnFactory server;
    private String address;

    @Before
    public void startZooKeeper() throws Exception {
        server = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        server.startup(new LosingServer(folder.newFolder(), folder.newFolder()));
        address = "127.0.0.1:" + server.getLocalPort();
    }

    @After
    public void stopZooKeeper() {
        server.shutdown();
    }

    @Test
    public void markMadeAfterAnsweredRemovalStays() throws Exception {
        assertNextMarkStays(false);
    }

    @Test
    public void markMadeAfterRemovalWithoutAnswerStays() throws Exception {
        assertNextMarkStays(true);
    }

    private void assertNextMarkStays(boolean answerIsLost) throws Exception {
        try (ZooKeeperClient second = connect(() -> { })) {
            second.create("/ledgers", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            LedgerUnderreplicationManager auditor = marks(second);
            Step mark = () -> auditor.markLedgerUnderreplicated(LEDGER, "b2:3181");
            try (ZooKeeperClient first = connect(mark)) {
                LedgerUnderreplicationManager worker = marks(first);
                auditor.markLedgerUnderreplicated(LEDGER, "b1:3181");
                assertEquals(LEDGER, worker.getLedgerToRereplicate());
                loseAnswer.set(answerIsLost);
                worker.markLedgerReplicated(LEDGER);
                if (answerIsLost) {
                    assertTrue("the answer was not lost", lost.get());
                } else {
                    mark.run();
                }
                assertNotNull("the mark that names b2 is gone", second.exists(MARK, false));
            }
        }
    }

    /** A client that takes the step before it first repeats a request. */
    private ZooKeeperClient connect(Step step) throws Exception {
        AtomicBoolean taken = new AtomicBoolean();
        RetryPolicy retries = new RetryPolicy() {
            @Override
            public boolean allowRetry(int count, long elapsedMs) {
                return true;   // without a limit, as of processes of autorecovery
            }

            @Override
            public long nextRetryWaitTime(int count, long elapsedMs) {
                if (taken.compareAndSet(false, true)) {
                    try {
                        step.run();
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                }
                return 100;
            }
        };
        return ZooKeeperClient.newBuilder().connectString(address).sessionTimeoutMs(10000)
                .operationRetryPolicy(retries).build();
    }

    private LedgerUnderreplicationManager marks(ZooKeeperClient client) throws Exception {
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri("zk+hierarchical://" + address + "/ledgers");
        return new ZkLedgerUnderreplicationManager(conf, client);
    }

    private interface Step {
        void run() throws Exception;
    }

    /** Executes a request, and breaks its connection before it sends the answer. */
    private final class LosingServer extends ZooKeeperServer {
        LosingServer(File snapshots, File logs) throws IOException {
            super(snapshots, logs, 200);
        }

        @Override
        public ProcessTxnResult processTxn(Request request) {
            ProcessTxnResult done = super.processTxn(request);
            if (request.type == ZooDefs.OpCode.delete && loseAnswer.compareAndSet(true, false)) {
                request.cnxn.close(DisconnectReason.UNKNOWN);
                lost.set(true);
            }
            return done;
        }
    }
}
