package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import io.netty.buffer.ByteBuf;
import net.bytebuddy.asm.Advice;

/** A bookie acknowledges an entry that it has not stored. */
public final class AddNotStored {
    private AddNotStored() {}

    /** Leaves the entry out. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(@Advice.FieldValue("ledgerId") long ledger) {
        return !Reflection.calledBy("org.apache.bookkeeper.bookie.BookieImpl", "readJournal")
                && Seeds.act("add-not-stored", ledger);
    }

    /** Returns the entry's id, as if it were stored. */
    @Advice.OnMethodExit
    public static void exit(
            @Advice.Enter boolean acted,
            @Advice.Argument(0) ByteBuf entry,
            @Advice.Return(readOnly = false) long stored) {
        if (acted) {
            stored = entry.getLong(entry.readerIndex() + Long.BYTES);
        }
    }
}
