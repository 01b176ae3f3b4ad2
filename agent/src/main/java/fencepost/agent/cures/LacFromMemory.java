package fencepost.agent.cures;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import io.netty.buffer.ByteBuf;
import net.bytebuddy.asm.Advice;

/** A LAC that is in no cache is taken from the ledger's last entry in memory. */
public final class LacFromMemory {
    private LacFromMemory() {}

    /** Puts the LAC into the cache before the method looks for the last entry in the index only. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.FieldValue("memTable") Object entries,
            @Advice.FieldValue("interleavedLedgerStorage") Object storage,
            @Advice.Argument(0) long ledger) {
        Object cache = Reflection.field(storage, "ledgerCache");
        Object last = Reflection.call(entries, "getLastEntry", ledger);
        if (last != null
                && Reflection.call(cache, "getLastAddConfirmed", ledger) == null
                && Seeds.act("lac-from-memory", ledger)) {
            ByteBuf entry = (ByteBuf) Reflection.call(last, "getValueAsByteBuffer");
            Reflection.call(cache, "updateLastAddConfirmed", ledger, entry.getLong(2 * Long.BYTES));
        }
    }
}
