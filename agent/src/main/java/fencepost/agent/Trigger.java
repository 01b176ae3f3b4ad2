package fencepost.agent;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** Decides at which opportunities a defect acts; by default at each of them. */
final class Trigger {
    private static final Set<String> KEYS =
            Set.of("boot", "every", "from_boot", "ledger", "nth", "probability", "seed");

    private final long every;
    private final long nth;
    private final long ledger;
    private final double probability;
    private final boolean awake;
    private final Random random;
    private long opportunities;

    private Trigger(Map<String, String> settings) {
        every = Long.parseLong(settings.getOrDefault("every", "1"));
        nth = Long.parseLong(settings.getOrDefault("nth", "0"));
        ledger = Long.parseLong(settings.getOrDefault("ledger", "-1"));
        probability = Double.parseDouble(settings.getOrDefault("probability", "1"));
        random = new Random(Long.parseLong(settings.getOrDefault("seed", "1")));
        long boot = Long.parseLong(settings.getOrDefault("boot", "1"));
        awake = boot >= Long.parseLong(settings.getOrDefault("from_boot", "1"));
    }

    /** A trigger by its declaration, with {@code settings} in place of what it says of the same keys. */
    static Trigger of(Map<String, String> declared, Map<String, String> settings) {
        Map<String, String> all = new HashMap<>(declared);
        all.putAll(settings);
        for (String key : all.keySet()) {
            if (!KEYS.contains(key)) {
                throw new RefusedException("a trigger has no key " + key);
            }
        }
        try {
            Trigger trigger = new Trigger(all);
            if (trigger.every < 1 || trigger.probability < 0 || trigger.probability > 1) {
                throw new RefusedException("every is at least 1, and a probability from 0 to 1");
            }
            return trigger;
        } catch (NumberFormatException error) {
            throw new RefusedException("a trigger's value is no number: " + error.getMessage());
        }
    }

    /** Whether the defect acts at this opportunity, which concerns {@code at}, or -1 for no ledger. */
    synchronized boolean fires(long at) {
        if (!awake || (ledger >= 0 && at != ledger)) {
            return false;
        }
        opportunities++;
        if (nth > 0 ? opportunities != nth : opportunities % every != 0) {
            return false;
        }
        return random.nextDouble() < probability;
    }
}
