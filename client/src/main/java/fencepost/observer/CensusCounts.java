package fencepost.observer;

import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.ledgers.Errors;
import java.util.Map;
import java.util.TreeMap;

/** How often each answer was given in a census. Safe for many threads. */
final class CensusCounts {
    private final Map<Integer, Long> byCode = new TreeMap<>();
    private long damaged;
    private long skipped;

    /** One answer; {@code proven} is true if the returned entry, if any, proved itself. */
    synchronized void answered(int code, boolean proven) {
        byCode.merge(code, 1L, Long::sum);
        if (code == Errors.OK && !proven) {
            damaged++;
        }
    }

    /** One entry that a silent bookie was not asked for. */
    synchronized void skipped() {
        skipped++;
    }

    /** Writes the counts into a reply. */
    synchronized ObjectNode into(ObjectNode reply) {
        ObjectNode codes = reply.putObject("codes");
        byCode.forEach((code, count) -> codes.put(String.valueOf(code), count));
        return reply.put("damaged", damaged).put("skipped", skipped);
    }
}
