package fencepost.agent.defects;

import fencepost.agent.Reflection;
import fencepost.agent.Seeds;
import net.bytebuddy.asm.Advice;

/** The fragment of a new ensemble begins one entry too late. */
public final class NewFragmentTooLate {
    private NewFragmentTooLate() {}

    /** Adds one to the first entry. */
    @Advice.OnMethodEnter
    public static void enter(@Advice.Argument(value = 0, readOnly = false) long first) {
        if (first > 0
                && !Reflection.calledBy("org.apache.bookkeeper.meta.LedgerMetadataSerDe", "")
                && Seeds.act("new-fragment-too-late", -1)) {
            first = first + 1;
        }
    }
}
