package org.apache.bookkeeper.bookie;

import static org.junit.Assert.assertArrayEquals;

import io.netty.buffer.Unpooled;
import java.io.File;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** The preallocation of a journal overwrites a part of a large entry. */
public class JournalPreallocationTest {

    @Rule
    public final TemporaryFolder folder = new TemporaryFolder();

    @Test
    public void preallocationLeavesSmallEntryWhole() throws Exception {
        assertLeftWhole(400_000);
    }

    @Test
    public void preallocationLeavesLargeEntryWhole() throws Exception {
        assertLeftWhole(4_000_000);
    }

    private void assertLeftWhole(int size) throws Exception {
        File journal = folder.newFolder("journal");
        byte[] entry = new byte[size];
        Arrays.fill(entry, (byte) 1);
        JournalChannel channel = new JournalChannel(journal, 1, 1024 * 1024, 65536, 512, false, JournalChannel.V5,
            new ServerConfiguration(), new DefaultFileChannelProvider());
        channel.preAllocIfNeeded(entry.length);
        channel.getBufferedChannel().write(Unpooled.wrappedBuffer(entry));
        channel.preAllocIfNeeded(100);
        channel.getBufferedChannel().flush();
        channel.forceWrite(false);
        channel.close();

        byte[] file = Files.readAllBytes(new File(journal, "1.txn").toPath());
        int begin = JournalChannel.HEADER_SIZE;
        assertArrayEquals(entry, Arrays.copyOfRange(file, begin, begin + entry.length));
    }
}
