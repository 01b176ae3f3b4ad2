package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.AsyncCallback.AddCallback;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;

/** Recovery does not write back the entries that it has read. */
public final class RecoveryWithoutWriteBack {
    private RecoveryWithoutWriteBack() {}

    /** Takes the entry as written. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.This LedgerHandle ledger,
            @Advice.Argument(2) int length,
            @Advice.Argument(3) AddCallback callback,
            @Advice.Argument(4) Object context,
            @Advice.FieldValue(value = "lastAddPushed", readOnly = false) long pushed,
            @Advice.FieldValue(value = "lastAddConfirmed", readOnly = false) long confirmed) {
        if (!Seeds.act("recovery-without-write-back", ledger.getId())) {
            return false;
        }
        pushed = pushed + 1;
        confirmed = pushed;
        Reflection.call(ledger, "addToLength", length);
        callback.addComplete(BKException.Code.OK, ledger, pushed, context);
        return true;
    }
}
