package fencepost.agent.cures;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** A handle with an empty key gives way to one with the ledger's real key. */
public final class EmptyKeyReplaced {
    private EmptyKeyReplaced() {}

    /** Drops the handle that journal replay made, so that the method makes another with the given key. */
    @Advice.OnMethodEnter
    public static void enter(
            @Advice.FieldValue("ledgers") Object handles,
            @Advice.Argument(0) long ledger,
            @Advice.Argument(1) byte[] key) {
        Object handle = Reflection.call(handles, "get", ledger);
        if (handle != null
                && key.length > 0
                && ((byte[]) Reflection.field(handle, "masterKey")).length == 0
                && Seeds.act("empty-key-replaced", ledger)) {
            Reflection.call(handles, "remove", ledger);
        }
    }
}
