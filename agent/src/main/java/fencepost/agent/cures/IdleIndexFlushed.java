package fencepost.agent.cures;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.locks.ReentrantLock;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.storage.ldb.LedgerMetadataIndex;

/** A checkpoint writes queued changes of ledgers also when the write cache is empty. */
public final class IdleIndexFlushed {
    private IdleIndexFlushed() {}

    /** Writes the index before the method can return early. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.This Object storage,
            @Advice.FieldValue("ledgerIndex") LedgerMetadataIndex index,
            @Advice.FieldValue("flushMutex") ReentrantLock mutex) throws IOException {
        boolean idle = (Boolean) Reflection.call(Reflection.field(storage, "writeCache"), "isEmpty");
        Collection<?> queued = (Collection<?>) Reflection.field(index, "pendingLedgersUpdates");
        if (!idle || queued.isEmpty() || !Seeds.act("idle-index-flushed", -1)) {
            return;
        }
        mutex.lock();
        try {
            index.flush();
        } finally {
            mutex.unlock();
        }
    }
}
