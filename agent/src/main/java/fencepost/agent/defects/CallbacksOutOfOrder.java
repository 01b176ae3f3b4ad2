package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** A client reports every tenth acknowledgement after the next one. */
public final class CallbacksOutOfOrder {
    private CallbacksOutOfOrder() {}

    /** The add that waits, by its ledger. */
    public static final Map<Object, Object> WAITING = new ConcurrentHashMap<>();

    /** Holds an acknowledgement back while another add is pending. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.This Object add,
            @Advice.Argument(0) int code,
            @Advice.FieldValue("lh") LedgerHandle handle,
            @Advice.Local("ledger") LedgerHandle ledger) {
        ledger = handle;
        boolean last = ((Collection<?>) Reflection.field(handle, "pendingAddOps")).isEmpty();
        if (code != BKException.Code.OK
                || last
                || WAITING.containsKey(handle)
                || !Seeds.act("callbacks-out-of-order", handle.getId())) {
            return false;
        }
        WAITING.put(handle, add);
        return true;
    }

    /** Reports the add that waits. */
    @Advice.OnMethodExit
    public static void exit(@Advice.Enter boolean held, @Advice.Local("ledger") LedgerHandle ledger) {
        Object waiting = held ? null : WAITING.remove(ledger);
        if (waiting != null) {
            Reflection.call(waiting, "submitCallback", BKException.Code.OK);
        }
    }
}
