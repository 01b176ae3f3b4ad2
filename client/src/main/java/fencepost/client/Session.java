package fencepost.client;

import fencepost.history.Completion;
import fencepost.history.Flag;
import fencepost.history.History;
import fencepost.history.HistoryFormat;
import fencepost.history.Identity;
import fencepost.history.Invocation;
import fencepost.history.Kind;
import fencepost.history.Outcome;
import fencepost.history.Pending;
import fencepost.ledgers.Errors;
import fencepost.ledgers.Ledger;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerHandle;

/** What every command works with: BookKeeper's client, the history, and who this client is. */
public final class Session {
    private static final byte[] PASSWORD = "fencepost".getBytes(StandardCharsets.US_ASCII);

    private final Identity identity;
    private final History history;
    private final BookKeeper bookkeeper;
    private final String zookeeper;
    private final ExecutorService threads;
    private final Handles handles = new Handles();
    private final AtomicInteger handleNumbers;

    Session(Identity identity, History history, BookKeeper bookkeeper, String zookeeper, ExecutorService threads) {
        this.identity = identity;
        this.history = history;
        this.bookkeeper = bookkeeper;
        this.zookeeper = zookeeper;
        this.threads = threads;
        this.handleNumbers = new AtomicInteger(identity.boot() << HistoryFormat.HANDLE_BOOT_SHIFT);
    }

    /** Who this client is. */
    public Identity identity() {
        return identity;
    }

    /** Where everything is recorded. */
    public History history() {
        return history;
    }

    /** BookKeeper's client. */
    public BookKeeper bookkeeper() {
        return bookkeeper;
    }

    /** ZooKeeper's connect string. */
    public String zookeeper() {
        return zookeeper;
    }

    /** Threads for work that goes on after its command was answered. */
    public ExecutorService threads() {
        return threads;
    }

    /** The handles that the caller has named. */
    public Handles handles() {
        return handles;
    }

    /** The password of every ledger of a run; nothing is kept secret here. */
    public byte[] password() {
        return PASSWORD.clone();
    }

    /** A number for a new handle, unique over all lives of this client. */
    public int newHandleNumber() {
        return handleNumbers.incrementAndGet();
    }

    /**
     * Opens a ledger for reading.
     *
     * @param flags bits of {@link Flag}; {@link Flag#RECOVERY} fences and recovers it
     * @throws CommandException with BookKeeper's code when it cannot be opened
     */
    public Ledger open(long ledgerId, int flags) throws CommandException, InterruptedException {
        return open(ledgerId, flags, newHandleNumber());
    }

    /** The same, with a number of the caller's for the handle. */
    public Ledger open(long ledgerId, int flags, int number) throws CommandException, InterruptedException {
        boolean recovery = (flags & Flag.RECOVERY.code()) != 0;
        Pending pending = history.begin(
                Invocation.onHandle(Kind.OPEN, flags, ledgerId, number, Ledger.NONE));
        try {
            LedgerHandle handle = (LedgerHandle) bookkeeper.newOpenLedgerOp()
                    .withLedgerId(ledgerId).withPassword(PASSWORD).withRecovery(recovery).execute().get();
            int lasting = flags & ~Flag.RECOVERY.code();
            Ledger ledger = new Ledger(handle, number, lasting, history, identity);
            long lac = handle.getLastAddConfirmed();
            pending.complete(Completion.ok(ledgerId).telling(ledger.lastEntry(), lac));
            ledger.tell(lac);
            return ledger;
        } catch (ExecutionException e) {
            int code = Errors.code(e);
            pending.complete(Completion.failed(Outcome.UNKNOWN, code, ledgerId));
            throw CommandException.bookkeeper(code, Outcome.UNKNOWN, "ledger " + ledgerId + " cannot be opened");
        }
    }
}
