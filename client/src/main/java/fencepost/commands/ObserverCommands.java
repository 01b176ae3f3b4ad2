package fencepost.commands;

import fencepost.client.Command;
import fencepost.client.Session;
import fencepost.observer.Observer;
import java.util.Map;

/** What the observer does: watch, ledgers, census, final. */
public final class ObserverCommands {
    private final Observer observer;

    /** Commands of {@code session}. */
    public ObserverCommands(Session session) {
        this.observer = new Observer(session);
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("watch", (parameters, progress) -> observer.watch());
        commands.put("ledgers", (parameters, progress) -> observer.ledgers());
        commands.put("census", (parameters, progress) -> observer.census(parameters));
        commands.put("final", observer::finalReads);
    }
}
