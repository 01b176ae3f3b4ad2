package fencepost.offline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.TxnHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PutBackTest {
    private static final int SESSION_TIMEOUT_MS = 3000;

    @TempDir
    Path folder;

    private long zxid;

    @Test
    void anOldCopyIsNumberedAsTheNewest() throws Exception {
        Path data = server("/one");
        Path copy = folder.resolve("copy");
        copy(data, copy);
        log(data, "/two");
        ObjectNode told = PutBack.write(data, folder.resolve("fresh"), copy.toString(), List.of());
        assertEquals("{\"from\":1,\"last\":2,\"zxid\":3,\"nodes\":6}", told.toString());
        Map<Long, Integer> sessions = new ConcurrentHashMap<>();
        DataTree tree = restored(folder.resolve("fresh"), sessions);
        assertNotNull(tree.getNode("/one"));
        assertNull(tree.getNode("/two"));
        assertEquals(3, tree.lastProcessedZxid);
        assertEquals(Map.of(7L, SESSION_TIMEOUT_MS), sessions);
        assertNotNull(restored(data, new ConcurrentHashMap<>()).getNode("/two"));
    }

    @Test
    void withoutACopyThereIsNothingButWhatIsAskedFor() throws Exception {
        Path data = server("/one");
        ObjectNode told = PutBack.write(data, folder.resolve("fresh"), "-", List.of("/a=", "/a/b=text=1"));
        assertEquals(0, told.get("from").asLong());
        DataTree tree = restored(folder.resolve("fresh"), new ConcurrentHashMap<>());
        assertNull(tree.getNode("/one"));
        assertArrayEquals("text=1".getBytes(StandardCharsets.UTF_8), tree.getNode("/a/b").getData());
        assertEquals(1, tree.getNode("/a").getChildren().size());
    }

    @Test
    void aFolderThatIsNoServersIsRefused() {
        assertThrows(IOException.class, () -> PutBack.write(folder, folder.resolve("fresh"), "-", List.of()));
    }

    private Path server(String path) throws IOException {
        Path data = folder.resolve("data");
        FileTxnSnapLog files = new FileTxnSnapLog(data.toFile(), data.toFile());
        files.save(new DataTree(), new ConcurrentHashMap<>(Map.of(7L, SESSION_TIMEOUT_MS)), true);
        files.close();
        log(data, path);
        return data;
    }

    private void log(Path data, String path) throws IOException {
        FileTxnSnapLog files = new FileTxnSnapLog(data.toFile(), data.toFile());
        zxid++;
        TxnHeader header = new TxnHeader(1, 1, zxid, zxid, OpCode.create);
        CreateTxn txn = new CreateTxn(path, new byte[0], Ids.OPEN_ACL_UNSAFE, false, 1);
        files.append(new Request(1, 1, OpCode.create, header, txn, zxid));
        files.commit();
        files.close();
    }

    private static DataTree restored(Path data, Map<Long, Integer> sessions) throws IOException {
        FileTxnSnapLog files = new FileTxnSnapLog(data.toFile(), data.toFile());
        DataTree tree = new DataTree();
        files.restore(tree, sessions, (header, record, digest) -> { });
        files.close();
        return tree;
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> paths = Files.walk(from)) {
            for (Path path : paths.toList()) {
                Files.copy(path, to.resolve(from.relativize(path)));
            }
        }
    }
}
