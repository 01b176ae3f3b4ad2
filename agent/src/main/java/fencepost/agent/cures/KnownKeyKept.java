package fencepost.agent.cures;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.util.Arrays;
import net.bytebuddy.asm.Advice;

/** A ledger's known key is not stored a second time. */
public final class KnownKeyKept {
    private KnownKeyKept() {}

    /** Returns at once where the key is the known one, so that no record is serialised twice. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.FieldValue("ledgers") Object ledgers,
            @Advice.Argument(0) long ledger,
            @Advice.Argument(1) byte[] key) {
        Object known = Reflection.call(ledgers, "get", ledger);
        return known != null
                && Arrays.equals((byte[]) Reflection.call(known, "getMasterKey"), key)
                && Seeds.act("known-key-kept", ledger);
    }
}
