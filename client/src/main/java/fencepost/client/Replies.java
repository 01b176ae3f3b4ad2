package fencepost.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;

/** Writes JSON objects to the caller, one a line. Safe for many threads. */
final class Replies {
    private final ObjectMapper json = new ObjectMapper();
    private final PrintStream out;

    Replies(PrintStream out) {
        this.out = out;
    }

    /** An empty object to be filled and sent. */
    static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    /** Sends one line. */
    void send(ObjectNode message) {
        String line;
        try {
            line = json.writeValueAsString(message);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a reply cannot be written", e);
        }
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }
}
