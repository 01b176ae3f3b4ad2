package fencepost.agent;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/** Makes files and names of files outlive a loss of power. */
public final class Syncing {
    private Syncing() {}

    /** Syncs a file, or the names in a directory. */
    public static void sync(File file) throws IOException {
        try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
