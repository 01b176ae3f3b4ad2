package fencepost.commands;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.client.Command;
import fencepost.client.CommandException;
import fencepost.client.Parameters;
import fencepost.client.Session;
import java.util.Map;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.proto.BookieAddressResolver.BookieIdNotResolvedException;

/** What this client knows of bookies: knows. */
public final class BookieCommands {
    private final Session session;

    /** Commands of {@code session}. */
    public BookieCommands(Session session) {
        this.session = session;
    }

    /** Adds the commands by their names. */
    public void register(Map<String, Command> commands) {
        commands.put("knows", (parameters, progress) -> knows(parameters));
    }

    /** Whether a request to the bookie would find its address: the client learns of registrations by a watch. */
    private ObjectNode knows(Parameters parameters) throws CommandException {
        BookieId bookie = BookieId.parse(parameters.text("bookie"));
        boolean known = true;
        try {
            session.bookkeeper().getBookieAddressResolver().resolve(bookie);
        } catch (BookieIdNotResolvedException e) {
            known = false;
        }
        return JsonNodeFactory.instance.objectNode().put("known", known);
    }
}
