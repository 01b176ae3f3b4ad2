package fencepost.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/** A history file on the disk, read without the code that wrote it. */
final class HistoryFile {
    private final ByteBuffer bytes;

    HistoryFile(Path path) throws IOException {
        bytes = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** All files of a folder that hold slots, in the order of their names. */
    static List<HistoryFile> all(Path folder) throws IOException {
        List<HistoryFile> files = new ArrayList<>();
        try (var paths = Files.list(folder)) {
            for (Path path : paths.sorted().toList()) {
                HistoryFile file = new HistoryFile(path);
                if (file.used() > 0) {
                    files.add(file);
                }
            }
        }
        return files;
    }

    ByteBuffer header() {
        return bytes.slice(0, 128).order(ByteOrder.LITTLE_ENDIAN);
    }

    int used() {
        int used = 0;
        for (int slot = 0; 128 * (slot + 2) <= bytes.limit(); slot++) {
            if (!isZero(half(slot, 0))) {
                used = slot + 1;
            }
        }
        return used;
    }

    ByteBuffer invoked(int slot) {
        return half(slot, 0);
    }

    ByteBuffer completed(int slot) {
        return half(slot, 1);
    }

    static boolean isSound(ByteBuffer half) {
        CRC32 crc = new CRC32();
        crc.update(half.slice(0, half.limit() - 4));
        return (int) crc.getValue() == half.getInt(half.limit() - 4);
    }

    static boolean isZero(ByteBuffer half) {
        for (int at = 0; at < half.limit(); at++) {
            if (half.get(at) != 0) {
                return false;
            }
        }
        return true;
    }

    private ByteBuffer half(int slot, int which) {
        return bytes.slice(128 * (slot + 1) + 64 * which, 64).order(ByteOrder.LITTLE_ENDIAN);
    }
}
