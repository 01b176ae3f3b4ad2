package fencepost.agent.cures;

import fencepost.agent.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.locks.ReentrantLock;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.bookie.storage.ldb.WriteCache;

/** A checkpoint writes what a failed flush left behind. */
public final class FailedFlushKept {
    private FailedFlushKept() {}

    /** Puts entries that wait in the other half of the write cache back into the half that is written next. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.FieldValue("writeCache") WriteCache next,
            @Advice.FieldValue("writeCacheBeingFlushed") WriteCache left,
            @Advice.FieldValue("flushMutex") ReentrantLock mutex) throws IOException {
        mutex.lock();
        try {
            if (!left.isEmpty() && Seeds.act("failed-flush-kept", -1)) {
                putBack(left, next);
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Moves every entry; where they do not fit, the checkpoint fails and nothing is forgotten. */
    public static void putBack(WriteCache left, WriteCache next) throws IOException {
        try {
            left.forEach((ledger, entry, bytes) -> {
                if (!next.put(ledger, entry, bytes)) {
                    throw new UncheckedIOException(new IOException("no room for the entries of a failed flush"));
                }
            });
        } catch (UncheckedIOException full) {
            throw full.getCause();
        }
        left.clear();
    }
}
