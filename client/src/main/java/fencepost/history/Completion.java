package fencepost.history;

import fencepost.payload.Evidence;

/**
 * How an operation ended; -1 stands for "none" in every id.
 *
 * @param outcome ok, fail or unknown
 * @param error code of {@code BKException}, 0 for none
 * @param ledger ledger id as returned
 * @param entry add: the id assigned; close and open: last entry id; read and pass: number of entries delivered
 * @param lac LAC in this outcome
 * @param expected the id that order demands; pass: the transaction that made the log's znode
 * @param payload what the payload's bytes prove
 */
public record Completion(
        Outcome outcome, int error, long ledger, long entry, long lac, long expected, Evidence payload) {

    /** A success whose only result is the ledger's id. */
    public static Completion ok(long ledger) {
        return new Completion(Outcome.OK, 0, ledger, -1, -1, -1, Evidence.NONE);
    }

    /** An end without success. */
    public static Completion failed(Outcome outcome, int error, long ledger) {
        return new Completion(outcome, error, ledger, -1, -1, -1, Evidence.NONE);
    }

    /** The same end with an entry id and a LAC. */
    public Completion telling(long entry, long lac) {
        return new Completion(outcome, error, ledger, entry, lac, expected, payload);
    }
}
