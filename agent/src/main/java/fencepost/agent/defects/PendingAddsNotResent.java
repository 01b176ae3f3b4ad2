package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.net.BookieId;

/** After an ensemble change a client takes its pending adds as stored by the new bookie. */
public final class PendingAddsNotResent {
    private PendingAddsNotResent() {}

    /** Counts the new bookie instead of sending the entry to it. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.Argument(0) List<BookieId> changed,
            @Advice.Argument(1) int bookie,
            @Advice.FieldValue("lh") LedgerHandle ledger,
            @Advice.FieldValue("entryId") long entry,
            @Advice.FieldValue("callbackTriggered") boolean done,
            @Advice.FieldValue("ackSet") Object acknowledged,
            @Advice.FieldValue(value = "ensemble", readOnly = false) List<BookieId> ensemble,
            @Advice.FieldValue(value = "completed", readOnly = false) boolean completed) {
        Object schedule = Reflection.field(ledger, "distributionSchedule");
        if (done
                || !(Boolean) Reflection.call(schedule, "hasEntry", entry, bookie)
                || !Seeds.act("pending-adds-not-resent", ledger.getId())) {
            return false;
        }
        ensemble = changed;
        completed = (Boolean) Reflection.call(acknowledged, "completeBookieAndCheck", bookie) || completed;
        Reflection.call(ledger, "sendAddSuccessCallbacks");
        return true;
    }
}
