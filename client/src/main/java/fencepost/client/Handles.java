package fencepost.client;

import fencepost.ledgers.Ledger;
import fencepost.ledgers.Writer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The open handles by the names that the caller gave them, each with at most one job in the background. */
public final class Handles {
    private final Map<String, Ledger> ledgers = new ConcurrentHashMap<>();
    private final Map<String, BackgroundJob> jobs = new ConcurrentHashMap<>();

    /** Refuses a name that is in use. */
    public void requireFree(String name) throws CommandException {
        if (ledgers.containsKey(name)) {
            throw CommandException.badRequest("there is a handle " + name + " already");
        }
    }

    /** Gives a handle its name. */
    public void put(String name, Ledger ledger) throws CommandException {
        if (ledgers.putIfAbsent(name, ledger) != null) {
            throw CommandException.badRequest("there is a handle " + name + " already");
        }
    }

    /** The handle of that name. */
    public Ledger get(String name) throws CommandException {
        Ledger ledger = ledgers.get(name);
        if (ledger == null) {
            throw CommandException.badRequest("there is no handle " + name + ", only " + ledgers.keySet());
        }
        return ledger;
    }

    /** The handle of that name, which must be a writer. */
    public Writer writer(String name) throws CommandException {
        if (get(name) instanceof Writer writer) {
            return writer;
        }
        throw CommandException.badRequest("the handle " + name + " only reads");
    }

    /** Forgets a name; the ledger stays as it is. Its job, if there is one, is stopped. */
    public void remove(String name) {
        ledgers.remove(name);
        stopped(name).ifPresent(BackgroundJob::stop);
    }

    /** Notes the job of a handle. */
    public void started(String name, BackgroundJob job) throws CommandException {
        if (jobs.putIfAbsent(name, job) != null) {
            throw CommandException.badRequest("the handle " + name + " has a job in the background already");
        }
    }

    /** Takes the job of a handle away. */
    public Optional<BackgroundJob> stopped(String name) {
        return Optional.ofNullable(jobs.remove(name));
    }
}
