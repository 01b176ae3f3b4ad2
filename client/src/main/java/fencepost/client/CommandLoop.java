package fencepost.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ExecutorService;

/**
 * Reads commands, one JSON object a line, and runs each on a separate thread; every command gets exactly one
 * reply with its id.
 */
final class CommandLoop {
    private final ObjectMapper json = new ObjectMapper();
    private final Map<String, Command> commands;
    private final Replies replies;
    private final ExecutorService threads;

    CommandLoop(Map<String, Command> commands, Replies replies, ExecutorService threads) {
        this.commands = commands;
        this.replies = replies;
        this.threads = threads;
    }

    /** Runs until the caller closes its end, or says {@code quit}: that is answered when {@code ending} is done. */
    void run(BufferedReader in, Ending ending) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode message;
            try {
                message = json.readTree(line);
            } catch (JsonProcessingException e) {
                replies.send(CommandException.badRequest("no JSON: " + e.getOriginalMessage()).reply());
                continue;
            }
            if ("quit".equals(message.path("do").textValue())) {
                ObjectNode reply = Replies.object().put("ok", true);
                replies.send(answering(message, reply.setAll(ending.end())));
                return;
            }
            threads.execute(() -> handle(message));
        }
    }

    /** Work to do before a graceful shutdown. */
    @FunctionalInterface
    interface Ending {
        /** Does it, and says how much of the history was used. */
        ObjectNode end() throws IOException;
    }

    private void handle(JsonNode message) {
        ObjectNode reply;
        try {
            reply = run(message);
        } catch (CommandException e) {
            reply = e.reply();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            reply = CommandException.unexpected(e).reply();
        } catch (RuntimeException | LinkageError e) {
            e.printStackTrace();
            reply = CommandException.unexpected(e).reply();
        }
        replies.send(answering(message, reply));
    }

    private ObjectNode run(JsonNode message) throws CommandException, InterruptedException {
        String name = message.path("do").textValue();
        Command command = name == null ? null : commands.get(name);
        if (command == null) {
            throw CommandException.badRequest(
                    "unknown command " + message.path("do") + ", known are " + commands.keySet());
        }
        ObjectNode reply = Replies.object().put("ok", true);
        reply.setAll(command.run(new Parameters(message), fields -> {
            ObjectNode event = Replies.object().put("event", "progress");
            event.setAll(fields);
            replies.send(answering(message, event));
        }));
        return reply;
    }

    private static ObjectNode answering(JsonNode message, ObjectNode reply) {
        ObjectNode answer = Replies.object();
        answer.set("id", message.get("id"));
        answer.setAll(reply);
        return answer;
    }
}
