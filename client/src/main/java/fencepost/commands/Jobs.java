package fencepost.commands;

import fencepost.client.BackgroundJob;
import fencepost.client.CommandException;
import fencepost.client.Session;

/** Starts what goes on after its command was answered. */
final class Jobs {
    private Jobs() {
    }

    /** Runs {@code job} for the handle of that name, until it is done or {@code stop} ends it. */
    static void start(Session session, String handle, BackgroundJob job) throws CommandException {
        session.handles().started(handle, job);
        session.threads().execute(() -> {
            try {
                job.run();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
