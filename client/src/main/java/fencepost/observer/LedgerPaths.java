package fencepost.observer;

import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where BookKeeper's hierarchical ledger managers keep ledgers in ZooKeeper. */
public final class LedgerPaths {
    /** Root of everything that BookKeeper keeps in ZooKeeper. */
    public static final String ROOT = "/ledgers";

    /** {@code /ledgers/00/0000/L0007}, and for ids beyond 31 bits {@code /ledgers/000/0000/0000/0000/L0007}. */
    private static final Pattern LEDGER = Pattern.compile(
            ROOT + "/(?:(\\d{2})/(\\d{4})/L(\\d{4})|(\\d{3})/(\\d{4})/(\\d{4})/(\\d{4})/L(\\d{4}))");
    private static final Pattern BRANCH = Pattern.compile(ROOT + "/(?:\\d{2}(?:/\\d{4})?|\\d{3}(?:/\\d{4}){0,3})");

    private LedgerPaths() {
    }

    /** The ledger whose metadata is kept at {@code path}, or nothing. */
    public static OptionalLong ledger(String path) {
        Matcher matcher = LEDGER.matcher(path);
        if (!matcher.matches()) {
            return OptionalLong.empty();
        }
        StringBuilder digits = new StringBuilder();
        for (int group = 1; group <= matcher.groupCount(); group++) {
            if (matcher.group(group) != null) {
                digits.append(matcher.group(group));
            }
        }
        return OptionalLong.of(Long.parseLong(digits.toString()));
    }

    /** Whether ledgers can lie below {@code path}. */
    static boolean isBranch(String path) {
        return path.equals(ROOT) || BRANCH.matcher(path).matches();
    }
}
