package fencepost.payload;

import fencepost.history.Proof;

/**
 * What was found in the bytes of one entry.
 *
 * @param proof what they prove
 * @param digest CRC-32C of all bytes in the upper half, CRC-32 in the lower
 * @param origin client number in the payload's header
 * @param sizeBytes number of bytes
 */
public record Evidence(Proof proof, long digest, int origin, int sizeBytes) {
    /** No payload was seen. */
    public static final Evidence NONE = new Evidence(Proof.NONE, 0, 0, 0);
}
