package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;
import org.apache.bookkeeper.client.LedgerMetadataBuilder;
import org.apache.bookkeeper.client.api.LedgerMetadata;

/** Recovery does not write the state IN_RECOVERY; it goes on as if it had. */
public final class RecoveryStateMissing {
    private RecoveryStateMissing() {}

    /** Writes OPEN. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.Argument(value = 0, readOnly = false) LedgerMetadata metadata) {
        if (metadata.getState() == LedgerMetadata.State.IN_RECOVERY
                && Seeds.act("recovery-state-missing", metadata.getLedgerId())) {
            LedgerMetadataBuilder open = LedgerMetadataBuilder.from(metadata);
            Reflection.set(open, "state", LedgerMetadata.State.OPEN);
            metadata = open.build();
        }
    }
}
