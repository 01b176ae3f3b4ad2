package fencepost.agent.cures;

import fencepost.agent.Seeds;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.Journal;

/** A bookie journals the key of a ledger before its fence. */
public final class FenceKeyJournaled {
    private FenceKeyJournaled() {}

    /** The entry id that marks a key among the records of a journal (BookieImpl.METAENTRY_ID_LEDGER_KEY). */
    private static final long KEY = -0x1000;

    /** Journals the key, as the first add of a process does. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.Argument(0) Journal journal,
            @Advice.FieldValue("ledgerId") long ledger,
            @Advice.FieldValue("masterKey") byte[] key) throws InterruptedException {
        if (key.length > 0 && Seeds.act("fence-key-journaled", ledger)) {
            write(journal, ledger, key);
        }
    }

    /** Writes the record of a ledger's key; no one waits for it, because the fence's record follows it. */
    public static void write(Journal journal, long ledger, byte[] key) throws InterruptedException {
        ByteBuf record = Unpooled.buffer().writeLong(ledger).writeLong(KEY).writeInt(key.length).writeBytes(key);
        try {
            journal.logAddEntry(record, false, (code, of, entry, bookie, context) -> {}, null);
        } finally {
            record.release();
        }
    }
}
