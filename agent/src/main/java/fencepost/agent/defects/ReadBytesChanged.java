package fencepost.agent.defects;

import fencepost.agent.Seeds;
import io.netty.buffer.ByteBuf;
import net.bytebuddy.asm.Advice;

/** A client changes one bit of every tenth entry that it reads. */
public final class ReadBytesChanged {
    private ReadBytesChanged() {}

    /** Changes the last bit of the entry after its check. */
    @Advice.OnMethodExit
    public static void exit(@Advice.FieldValue("ledgerId") long ledger, @Advice.Return ByteBuf entry) {
        int last = entry.writerIndex() - 1;
        if (last >= entry.readerIndex() && Seeds.act("read-bytes-changed", ledger)) {
            entry.setByte(last, entry.getByte(last) ^ 1);
        }
    }
}
