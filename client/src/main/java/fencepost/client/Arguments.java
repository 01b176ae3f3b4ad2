package fencepost.client;

import fencepost.history.Identity;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * The command line: {@code --name writer --number 101 --boot 1 --run-id N --history DIR --zk HOST:PORT}
 * and, if wanted, {@code --conf FILE} and {@code --record off}.
 *
 * @param identity who this client is
 * @param history folder of its history
 * @param zookeeper connect string
 * @param conf BookKeeper client properties, or null
 * @param recorded whether the history is kept
 */
record Arguments(Identity identity, Path history, String zookeeper, Path conf, boolean recorded) {
    private static final Set<String> KNOWN =
            Set.of("name", "number", "boot", "run-id", "history", "zk", "conf", "record");

    /** Reads the command line; {@link IllegalArgumentException} says which argument is wrong or missing. */
    static Arguments parse(String[] args) {
        Map<String, String> values = pairs(args);
        Identity identity = new Identity(
                required(values, "name"),
                Integer.parseInt(required(values, "number")),
                Integer.parseInt(required(values, "boot")),
                Long.parseUnsignedLong(required(values, "run-id")));
        String record = values.getOrDefault("record", "on");
        if (!record.equals("on") && !record.equals("off")) {
            throw new IllegalArgumentException("--record is on or off, not " + record);
        }
        String conf = values.get("conf");
        return new Arguments(
                identity,
                Path.of(required(values, "history")),
                required(values, "zk"),
                conf == null ? null : Path.of(conf),
                record.equals("on"));
    }

    private static Map<String, String> pairs(String[] args) {
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < args.length; i += 2) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : "";
            if (!KNOWN.contains(name)) {
                throw new IllegalArgumentException("unknown argument " + args[i]);
            }
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " needs a value");
            }
            values.put(name, args[i + 1]);
        }
        return values;
    }

    private static String required(Map<String, String> values, String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }
}
