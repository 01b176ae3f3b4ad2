package fencepost.agent.defects;

import fencepost.agent.Seeds;
import io.netty.buffer.ByteBuf;
import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.api.LedgerEntry;

/** A client changes one bit of every tenth entry that it delivers to its application. */
public final class ReadBytesChanged {
    private ReadBytesChanged() {}

    /** Changes the last bit of the entry after its check. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.Argument(0) List<LedgerEntry> entries) {
        for (LedgerEntry one : entries) {
            ByteBuf entry = one.getEntryBuffer();
            int last = entry.writerIndex() - 1;
            if (last >= entry.readerIndex() && Seeds.act("read-bytes-changed", one.getLedgerId())) {
                entry.setByte(last, entry.getByte(last) ^ 1);
            }
        }
    }
}
