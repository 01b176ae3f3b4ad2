package fencepost.agent.defects;

import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.zookeeper.AsyncCallback;

/** A replication worker does not copy every seventh entry. */
public final class RepairSkipsEntry {
    private RepairSkipsEntry() {}

    /** Calls back without copying. */
    @Advice.OnMethodEnter(skipOn = Advice.OnNonDefaultValue.class)
    public static boolean enter(
            @Advice.Argument(1) LedgerHandle ledger, @Advice.Argument(2) AsyncCallback.VoidCallback done) {
        if (!Seeds.act("repair-skips-entry", ledger.getId())) {
            return false;
        }
        done.processResult(BKException.Code.OK, null, null);
        return true;
    }
}
