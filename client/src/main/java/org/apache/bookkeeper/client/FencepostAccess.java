package org.apache.bookkeeper.client;

import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.client.api.LedgerEntries;
import org.apache.bookkeeper.proto.BookieClient;

/**
 * The few things that BookKeeper's client can do but keeps to its own package. The signatures used here are the
 * same in every release from 4.14 to 4.18, except where a method says otherwise.
 */
public final class FencepostAccess {
    private FencepostAccess() {
    }

    /** The client that speaks to one bookie at a time. */
    public static BookieClient bookies(BookKeeper client) {
        return client.getBookieClient();
    }

    /**
     * Sends the handle's LAC to the bookies explicitly.
     *
     * @return the sent LAC, when an ack quorum has acknowledged it
     */
    public static CompletableFuture<Long> writeLac(LedgerHandle handle) {
        CompletableFuture<Long> result = new CompletableFuture<>();
        long lac = handle.getLastAddConfirmed();
        PendingWriteLacOp op = new PendingWriteLacOp(
                handle, handle.clientCtx, handle.getCurrentEnsemble(), (rc, lh, ctx) -> {
                    if (rc == BKException.Code.OK) {
                        result.complete(lac);
                    } else {
                        result.completeExceptionally(BKException.create(rc));
                    }
                }, null);
        op.setLac(lac);
        op.initiate(handle.macManager.computeDigestAndPackageForSendingLac(lac));
        return result;
    }

    /**
     * Reads up to {@code count} entries from {@code first} on in one request, of any size that a frame may have.
     * The method is called by its name, because releases before 4.17.0 do not have it.
     */
    @SuppressWarnings("unchecked")
    public static CompletableFuture<LedgerEntries> readBatch(LedgerHandle handle, long first, int count) {
        try {
            return (CompletableFuture<LedgerEntries>) handle.getClass()
                    .getMethod("batchReadAsync", long.class, int.class, long.class)
                    .invoke(handle, first, count, 0L);
        } catch (ReflectiveOperationException e) {
            throw new UnsupportedOperationException("this release of BookKeeper's client reads no batches", e);
        }
    }
}
