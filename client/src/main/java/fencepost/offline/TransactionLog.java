package fencepost.offline;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Logging;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.TxnLog.TxnIterator;
import org.apache.zookeeper.txn.CloseSessionTxn;
import org.apache.zookeeper.txn.CreateContainerTxn;
import org.apache.zookeeper.txn.CreateTTLTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;

/**
 * Prints every change that ZooKeeper's transaction log has of what lies under {@code /ledgers} or is ours, in the
 * order in which it took effect, one JSON object a line. Reads with ZooKeeper's own code: a last transaction that was cut
 * off by the server's death is passed over as the server itself would.
 */
public final class TransactionLog {
    private static final List<String> ROOTS = List.of("/ledgers", "/fencepost");
    private static final String VERSION_FOLDER = "version-2";
    private static final int USAGE = 2;

    private final ObjectMapper json = new ObjectMapper();
    private final Writer out;

    private TransactionLog(Writer out) {
        this.out = out;
    }

    /** Arguments: ZooKeeper's data folder (or the {@code version-2} in it), and the file to write. */
    public static void main(String[] args) {
        Logging.redirect();
        if (args.length != 2) {
            System.err.println("usage: TransactionLog DIR OUT.jsonl");
            System.exit(USAGE);
        }
        try {
            write(Path.of(args[0]), Path.of(args[1]));
        } catch (IOException e) {
            System.err.println(e);
            System.exit(1);
        }
    }

    /** Reads the log in {@code folder} and rewrites {@code file}. */
    static void write(Path folder, Path file) throws IOException {
        Path inner = folder.resolve(VERSION_FOLDER);
        File logs = (Files.isDirectory(inner) ? inner : folder).toFile();
        if (!logs.isDirectory()) {
            throw new IOException("there is no folder " + logs);
        }
        try (Writer out = Files.newBufferedWriter(file, StandardCharsets.UTF_8);
                FileTxnLog log = new FileTxnLog(logs)) {
            new TransactionLog(out).all(log);
        }
    }

    private void all(FileTxnLog log) throws IOException {
        try (TxnIterator transactions = log.read(0)) {
            if (transactions.getHeader() == null) {
                return; // a log without a single transaction
            }
            do {
                TxnHeader header = transactions.getHeader();
                one(header, header.getType(), transactions.getTxn());
            } while (transactions.next());
        }
    }

    private void one(TxnHeader header, int type, Record record) throws IOException {
        switch (type) {
            case OpCode.create, OpCode.create2 -> {
                CreateTxn txn = (CreateTxn) record;
                line(header, "create", txn.getPath(), 0, txn.getData());
            }
            case OpCode.createContainer -> {
                CreateContainerTxn txn = (CreateContainerTxn) record;
                line(header, "create", txn.getPath(), 0, txn.getData());
            }
            case OpCode.createTTL -> {
                CreateTTLTxn txn = (CreateTTLTxn) record;
                line(header, "create", txn.getPath(), 0, txn.getData());
            }
            case OpCode.setData -> {
                SetDataTxn txn = (SetDataTxn) record;
                line(header, "set", txn.getPath(), txn.getVersion(), txn.getData());
            }
            case OpCode.delete, OpCode.deleteContainer ->
                line(header, "delete", ((DeleteTxn) record).getPath(), null, null);
            case OpCode.closeSession -> {
                if (record != null) {
                    deletes(header, ((CloseSessionTxn) record).getPaths2Delete());
                }
            }
            case OpCode.multi -> {
                List<Txn> parts = ((MultiTxn) record).getTxns();
                if (parts.stream().noneMatch(part -> part.getType() == OpCode.error)) { // one fails, all fail
                    for (Txn part : parts) {
                        one(header, part.getType(), part(part));
                    }
                }
            }
            default -> {
                // Sessions, access control, checks and errors change nothing that is kept under a path.
            }
        }
    }

    /** The ephemeral nodes that went with a session. */
    private void deletes(TxnHeader header, List<String> paths) throws IOException {
        for (String path : paths) {
            line(header, "delete", path, null, null);
        }
    }

    private static Record part(Txn part) throws IOException {
        Record record = switch (part.getType()) {
            case OpCode.create, OpCode.create2 -> new CreateTxn();
            case OpCode.createContainer -> new CreateContainerTxn();
            case OpCode.createTTL -> new CreateTTLTxn();
            case OpCode.setData -> new SetDataTxn();
            case OpCode.delete, OpCode.deleteContainer -> new DeleteTxn();
            default -> null;
        };
        if (record != null) {
            record.deserialize(BinaryInputArchive.getArchive(new ByteArrayInputStream(part.getData())), "txn");
        }
        return record;
    }

    private void line(TxnHeader header, String op, String path, Integer version, byte[] data) throws IOException {
        if (ROOTS.stream().noneMatch(root -> path.equals(root) || path.startsWith(root + "/"))) {
            return;
        }
        ObjectNode line = JsonNodeFactory.instance.objectNode();
        line.put("zxid", "0x" + Long.toHexString(header.getZxid()));
        line.put("time_ms", header.getTime());
        line.put("op", op).put("path", path).put("version", version);
        line.put("data", data);
        out.write(json.writeValueAsString(line));
        out.write('\n');
    }
}
