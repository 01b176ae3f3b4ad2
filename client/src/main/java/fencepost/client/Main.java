package fencepost.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import fencepost.commands.AppendCommands;
import fencepost.commands.BookieCommands;
import fencepost.commands.ChainCommands;
import fencepost.commands.LedgerCommands;
import fencepost.commands.ObserverCommands;
import fencepost.commands.ReadCommands;
import fencepost.history.FileHistory;
import fencepost.history.History;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.api.BKException;

/**
 * A BookKeeper client that runs the commands on stdin and records them. Replies go to stdout, the log to stderr;
 * when stdin ends, so does the process, at once.
 */
public final class Main {
    private static final int USAGE = 2;

    private Main() {
    }

    /** See {@link Arguments} for the command line. */
    public static void main(String[] args) throws IOException {
        PrintStream out = Logging.redirect();
        Arguments arguments;
        try {
            arguments = Arguments.parse(args);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(USAGE);
            return;
        }
        Replies replies = new Replies(out);
        try {
            run(arguments, replies);
        } catch (IOException | InterruptedException | BKException | RuntimeException e) {
            Fatal.end(replies, e);
        }
    }

    private static void run(Arguments arguments, Replies replies)
            throws IOException, InterruptedException, BKException {
        History history = history(arguments, replies);
        BookKeeper bookkeeper = Connection.open(arguments.conf(), arguments.zookeeper());
        ExecutorService threads = Executors.newCachedThreadPool(Main::daemon);
        Session session = new Session(
                arguments.identity(), history, bookkeeper, arguments.zookeeper(), threads);
        ObjectNode about = about(arguments);
        CommandLoop loop = new CommandLoop(commands(session, about), replies, threads);
        replies.send(Replies.object().put("event", "ready").setAll(about));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        loop.run(in, () -> end(bookkeeper, history));
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode end(BookKeeper bookkeeper, History history) throws IOException {
        try {
            bookkeeper.close();
        } catch (BKException e) {
            throw new IOException("BookKeeper's client does not close", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        history.close();
        return Replies.object()
                .put("slots", history.slots())
                .put("ended", history.ended())
                .put("repeated", history.repeated());
    }

    private static Map<String, Command> commands(Session session, ObjectNode about) {
        Map<String, Command> commands = new TreeMap<>();
        commands.put("hello", (parameters, progress) -> about.deepCopy());
        new LedgerCommands(session).register(commands);
        new AppendCommands(session).register(commands);
        new BookieCommands(session).register(commands);
        new ReadCommands(session).register(commands);
        new ChainCommands(session).register(commands);
        new ObserverCommands(session).register(commands);
        return commands;
    }

    private static ObjectNode about(Arguments arguments) throws IOException {
        return Replies.object()
                .put("version", Connection.version())
                .put("pid", ProcessHandle.current().pid())
                .put("name", arguments.identity().client())
                .put("boot", arguments.identity().boot())
                .put("history", arguments.recorded() ? arguments.history().toString() : null);
    }

    private static History history(Arguments arguments, Replies replies) throws IOException {
        if (!arguments.recorded()) {
            return History.none();
        }
        Files.createDirectories(arguments.history());
        // A client that cannot record must not act: on whatever thread that shows, the process ends.
        return new FileHistory(arguments.history(), arguments.identity(), lost -> Fatal.end(replies, lost));
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "command");
        thread.setDaemon(true);
        return thread;
    }
}
