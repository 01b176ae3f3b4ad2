package fencepost.offline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.jute.BinaryOutputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.txn.CloseSessionTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.ErrorTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TransactionLogTest {
    private static final int TIME_MS = 1_000;

    @TempDir
    Path folder;

    private final byte[] hello = "hello".getBytes(StandardCharsets.US_ASCII);
    private long zxid;

    @Test
    void tellsEveryChangeBelowLedgersInItsOrder() throws IOException {
        try (FileTxnLog log = log()) {
            append(log, OpCode.createSession, new org.apache.zookeeper.txn.CreateSessionTxn(3000));
            append(log, OpCode.create, create("/ledgers/00/0000/L0001"));
            append(log, OpCode.create, create("/elsewhere"));
            append(log, OpCode.setData, new SetDataTxn("/ledgers/00/0000/L0001", hello, 4));
            append(log, OpCode.error, new ErrorTxn(-101));
            append(log, OpCode.delete, new DeleteTxn("/ledgers/00/0000/L0001"));
            append(log, OpCode.closeSession, new CloseSessionTxn(List.of("/ledgers/available/b1:3181", "/x")));
        }
        assertEquals(List.of(
                "{\"zxid\":\"0x2\",\"time_ms\":1002,\"op\":\"create\",\"path\":\"/ledgers/00/0000/L0001\","
                        + "\"version\":0,\"data\":\"aGVsbG8=\"}",
                "{\"zxid\":\"0x4\",\"time_ms\":1004,\"op\":\"set\",\"path\":\"/ledgers/00/0000/L0001\","
                        + "\"version\":4,\"data\":\"aGVsbG8=\"}",
                "{\"zxid\":\"0x6\",\"time_ms\":1006,\"op\":\"delete\",\"path\":\"/ledgers/00/0000/L0001\","
                        + "\"version\":null,\"data\":null}",
                "{\"zxid\":\"0x7\",\"time_ms\":1007,\"op\":\"delete\",\"path\":\"/ledgers/available/b1:3181\","
                        + "\"version\":null,\"data\":null}"), read());
    }

    @Test
    void unfoldsTransactionsOfMany() throws IOException {
        try (FileTxnLog log = log()) {
            append(log, OpCode.multi, new MultiTxn(List.of(
                    new Txn(OpCode.create, bytes(create("/ledgers/a"))),
                    new Txn(OpCode.check, bytes(new org.apache.zookeeper.txn.CheckVersionTxn("/ledgers/a", 0))),
                    new Txn(OpCode.setData, bytes(new SetDataTxn("/ledgers/a", hello, 1))),
                    new Txn(OpCode.delete, bytes(new DeleteTxn("/ledgers/a"))))));
        }
        List<String> ops = read().stream().map(line -> line.replaceAll(".*\"op\":\"(\\w+)\".*", "$1")).toList();
        assertEquals(List.of("create", "set", "delete"), ops);
    }

    @Test
    void aTransactionOfManyThatFailedChangedNothing() throws IOException {
        try (FileTxnLog log = log()) {
            append(log, OpCode.multi, new MultiTxn(List.of(
                    new Txn(OpCode.setData, bytes(new SetDataTxn("/ledgers/a", hello, 1))),
                    new Txn(OpCode.error, bytes(new ErrorTxn(-103))))));
        }
        assertEquals(List.of(), read());
    }

    @Test
    void passesOverALastTransactionThatWasCutOff() throws IOException {
        firstAndHalfOfTheSecond();
        List<String> lines = read();
        assertEquals(1, lines.size());
        assertTrue(lines.get(0).contains("/ledgers/first"));
    }

    /** Each start of a server begins a file; the epoch is the upper half of a zxid. */
    @Test
    void goesOnInTheNextFileBehindATransactionThatWasCutOff() throws IOException {
        firstAndHalfOfTheSecond();
        for (long epoch = 1; epoch <= 2; epoch++) {
            zxid = epoch << 32;
            try (FileTxnLog log = log()) {
                append(log, OpCode.create, create("/ledgers/of-epoch-" + epoch));
            }
        }
        List<String> zxids = read().stream().map(line -> line.replaceAll(".*\"zxid\":\"(\\w+)\".*", "$1")).toList();
        assertEquals(List.of("0x1", "0x100000001", "0x200000001"), zxids);
    }

    private void firstAndHalfOfTheSecond() throws IOException {
        try (FileTxnLog log = log()) {
            append(log, OpCode.create, create("/ledgers/first"));
            append(log, OpCode.create, create("/ledgers/second"));
        }
        Path file = folder.resolve("version-2").resolve("log.1");
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        long middle = text.indexOf("second") + 3;
        try (RandomAccessFile cut = new RandomAccessFile(file.toFile(), "rw")) {
            cut.seek(middle);
            cut.write(new byte[(int) (cut.length() - middle)]);
        }
    }

    @Test
    void aLogWithoutTransactionsIsEmpty() throws IOException {
        Files.createDirectories(folder.resolve("version-2"));
        assertEquals(List.of(), read());
    }

    private FileTxnLog log() throws IOException {
        return new FileTxnLog(Files.createDirectories(folder.resolve("version-2")).toFile());
    }

    private void append(FileTxnLog log, int type, Record record) throws IOException {
        zxid++;
        log.append(new TxnHeader(1, 1, zxid, TIME_MS + zxid, type), record);
        log.commit();
    }

    private CreateTxn create(String path) {
        return new CreateTxn(path, hello, List.of(), false, 1);
    }

    private static byte[] bytes(Record record) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        record.serialize(BinaryOutputArchive.getArchive(out), "txn");
        return out.toByteArray();
    }

    private List<String> read() throws IOException {
        Path out = folder.resolve("out.jsonl");
        TransactionLog.write(folder, out);
        return Files.readAllLines(out);
    }
}
