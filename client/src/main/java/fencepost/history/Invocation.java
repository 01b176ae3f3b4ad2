package fencepost.history;

/**
 * What is known of an operation before it is called; -1 stands for "none" in every id.
 *
 * @param kind what it is
 * @param flags bits of {@link Flag}
 * @param ledger ledger id
 * @param entry add: the id that order demands; read: first id; entry: the id asked; force: highest id acknowledged
 * @param last read: last id; entry: sequence number of its read; census: number of the pass; watched: version
 * @param lacBefore the highest LAC that the handle had before
 * @param handle number of the handle (census: of the bookie), 0 for none
 * @param sizeBytes size of the payload
 */
public record Invocation(
        Kind kind, int flags, long ledger, long entry, long last, long lacBefore, int handle, int sizeBytes) {

    /** An operation that is on no handle. */
    public static Invocation of(Kind kind, int flags, long ledger) {
        return new Invocation(kind, flags, ledger, -1, -1, -1, 0, 0);
    }

    /** An operation on a handle as a whole. */
    public static Invocation onHandle(Kind kind, int flags, long ledger, int handle, long lacBefore) {
        return new Invocation(kind, flags, ledger, -1, -1, lacBefore, handle, 0);
    }

    /** The same operation, about {@code entry} and {@code last}. */
    public Invocation about(long entry, long last) {
        return new Invocation(kind, flags, ledger, entry, last, lacBefore, handle, sizeBytes);
    }
}
