package fencepost.offline;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Logging;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileSnap;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/**
 * Makes the files of a ZooKeeper server that begins with the content of an older copy, or with none, and counts its
 * transactions on from where the server stands now. Counting on matters twice: clients refuse a server that has
 * seen less than they have, and one number then means one transaction in all of the server's lives.
 *
 * <p>The result is a single snapshot file, written by ZooKeeper's own code; no transaction log comes with it.
 */
public final class PutBack {
    private static final String VERSION_FOLDER = "version-2";
    private static final String NOTHING = "-";
    private static final int LEAST_ARGUMENTS = 3;
    private static final int USAGE = 2;
    private static final int ROOT_VERSION = -1;

    private final DataTree tree;
    private final Map<Long, Integer> sessions;

    private PutBack(DataTree tree, Map<Long, Integer> sessions) {
        this.tree = tree;
        this.sessions = sessions;
    }

    /**
     * Arguments: ZooKeeper's data folder as it is, the data folder to make, the data folder of the copy ({@code -}
     * for none), and nodes to begin with besides, each as {@code path=text}. Prints the number of the last
     * transaction in the new content, and the number that this transaction gets.
     */
    public static void main(String[] args) {
        PrintStream answers = Logging.redirect();
        if (args.length < LEAST_ARGUMENTS) {
            System.err.println("usage: PutBack NOW NEW COPY|- [PATH=TEXT ...]");
            System.exit(USAGE);
        }
        try {
            List<String> nodes = Arrays.asList(args).subList(LEAST_ARGUMENTS, args.length);
            ObjectNode told = write(Path.of(args[0]), Path.of(args[1]), args[2], nodes);
            answers.println(new ObjectMapper().writeValueAsString(told));
            answers.flush();
        } catch (IOException | KeeperException e) {
            System.err.println(e);
            System.exit(1);
        }
    }

    /** Writes {@code fresh} from the copy; {@code now} says how far the server had counted. */
    static ObjectNode write(Path now, Path fresh, String copy, List<String> nodes)
            throws IOException, KeeperException {
        long last = read(now).tree.lastProcessedZxid;
        PutBack content = NOTHING.equals(copy)
                ? new PutBack(new DataTree(), new ConcurrentHashMap<>())
                : read(Path.of(copy));
        long had = NOTHING.equals(copy) ? 0 : content.tree.lastProcessedZxid;
        for (String node : nodes) {
            int equals = node.indexOf('=');
            content.create(node.substring(0, equals), node.substring(equals + 1), last + 1);
        }
        content.save(fresh, last + 1);
        ObjectNode told = JsonNodeFactory.instance.objectNode();
        return told.put("from", had).put("last", last).put("zxid", last + 1)
                .put("nodes", content.tree.getNodeCount());
    }

    /** The content of a server's files, its log replayed as the server itself would. */
    private static PutBack read(Path data) throws IOException {
        if (!Files.isDirectory(data.resolve(VERSION_FOLDER))) {
            throw new IOException("there is no folder " + data.resolve(VERSION_FOLDER));
        }
        DataTree tree = new DataTree();
        Map<Long, Integer> sessions = new ConcurrentHashMap<>();
        FileTxnSnapLog files = new FileTxnSnapLog(data.toFile(), data.toFile());
        try {
            tree.lastProcessedZxid = files.restore(tree, sessions, (header, record, digest) -> { });
        } finally {
            files.close();
        }
        return new PutBack(tree, sessions);
    }

    private void create(String path, String text, long zxid) throws KeeperException {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        tree.createNode(path, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, 0, ROOT_VERSION, zxid, System.currentTimeMillis());
    }

    private void save(Path fresh, long zxid) throws IOException {
        tree.lastProcessedZxid = zxid;
        File folder = Files.createDirectories(fresh.resolve(VERSION_FOLDER)).toFile();
        FileSnap snapshots = new FileSnap(folder);
        try {
            snapshots.serialize(tree, sessions, new File(folder, "snapshot." + Long.toHexString(zxid)), true);
        } finally {
            snapshots.close();
        }
    }
}
