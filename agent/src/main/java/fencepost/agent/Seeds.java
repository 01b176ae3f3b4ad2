package fencepost.agent;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The defects and cures of this process. Advice asks here before it changes anything. */
public final class Seeds {
    /** How many acts of one defect are reported. */
    public static final int MOST_REPORTED = 100;

    static final Map<String, Seed> INSTALLED = new ConcurrentHashMap<>();

    private Seeds() {}

    static void install(String name, Trigger trigger) {
        if (INSTALLED.putIfAbsent(name, new Seed(trigger, new AtomicLong())) != null) {
            throw new RefusedException("the defect is named twice");
        }
        Line.of("installed", name).print();
    }

    /**
     * Whether the defect acts now; reported if it does. Called only where acting makes a difference.
     *
     * @param ledger the ledger concerned, or -1 where the method knows none
     */
    public static boolean act(String name, long ledger) {
        Seed seed = INSTALLED.get(name);
        if (seed == null || !seed.trigger.fires(ledger)) {
            return false;
        }
        long number = seed.acts.incrementAndGet();
        if (number <= MOST_REPORTED) {
            Line.of("acted", name).with("number", number).with("ledger", ledger).print();
        }
        return true;
    }

    record Seed(Trigger trigger, AtomicLong acts) {}
}
