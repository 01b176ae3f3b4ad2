package fencepost.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import fencepost.history.Outcome;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.bookkeeper.client.BKException.Code;
import org.junit.jupiter.api.Test;

class CommandLoopTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicBoolean ended = new AtomicBoolean();

    @Test
    void everyCommandGetsOneReplyWithItsId() throws Exception {
        List<JsonNode> replies = say(Map.of("echo", (parameters, progress) ->
                Replies.object().put("said", parameters.text("word"))),
                "{\"id\": 7, \"do\": \"echo\", \"word\": \"hm\"}");
        assertEquals("[{\"id\":7,\"ok\":true,\"said\":\"hm\"}]", replies.toString());
        assertFalse(ended.get());
    }

    @Test
    void anUnknownCommandAFieldThatIsMissingAndNoJsonAreBadRequests() throws Exception {
        List<JsonNode> replies = say(Map.of("echo", (parameters, progress) ->
                Replies.object().put("said", parameters.number("word"))),
                "{\"id\": 1, \"do\": \"shout\"}", "{\"id\": 1, \"do\": \"echo\"}",
                "{\"id\": 1, \"do\": \"echo\", \"word\": 1.5}", "{");
        assertEquals(4, replies.size());
        replies.forEach(reply -> {
            assertEquals("BadRequest", reply.get("error").textValue());
            assertEquals("fail", reply.get("outcome").textValue());
            assertFalse(reply.get("ok").booleanValue());
        });
    }

    @Test
    void anErrorOfBookKeeperIsToldByNameAndCode() throws Exception {
        JsonNode reply = say(Map.of("add", (parameters, progress) -> {
            throw CommandException.bookkeeper(
                    Code.LedgerFencedException, Outcome.UNKNOWN, "broke", Replies.object().put("acked", 3));
        }), "{\"id\": 1, \"do\": \"add\"}").get(0);
        assertEquals("LedgerFenced", reply.get("error").textValue());
        assertEquals(-101, reply.get("code").intValue());
        assertEquals(3, reply.get("acked").intValue());
        assertEquals("unknown", reply.get("outcome").textValue());
    }

    @Test
    void commandsRunAtTheSameTime() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        List<JsonNode> replies = say(Map.of("meet", (parameters, progress) -> {
            both.countDown();
            return Replies.object().put("met", both.await(5, TimeUnit.SECONDS));
        }), "{\"id\": 1, \"do\": \"meet\"}", "{\"id\": 2, \"do\": \"meet\"}");
        replies.forEach(reply -> assertTrue(reply.get("met").booleanValue()));
    }

    @Test
    void progressIsAnEventOfItsCommand() throws Exception {
        List<JsonNode> replies = say(Map.of("work", (parameters, progress) -> {
            progress.report(Replies.object().put("done", 1));
            return Replies.object();
        }), "{\"id\": 3, \"do\": \"work\"}");
        assertEquals("[{\"id\":3,\"event\":\"progress\",\"done\":1}, {\"id\":3,\"ok\":true}]", replies.toString());
    }

    @Test
    void quitIsAnsweredWhenEverythingIsDone() throws Exception {
        List<JsonNode> replies = say(Map.of(), "{\"id\": 9, \"do\": \"quit\"}", "{\"id\": 10, \"do\": \"hello\"}");
        assertTrue(ended.get());
        assertEquals("[{\"id\":9,\"ok\":true,\"slots\":5}]", replies.toString());
    }

    private List<JsonNode> say(Map<String, Command> commands, String... lines)
            throws IOException, InterruptedException {
        Replies replies = new Replies(new PrintStream(out, false, StandardCharsets.UTF_8));
        new CommandLoop(commands, replies, threads).run(
                new BufferedReader(new StringReader(String.join("\n", lines))), () -> {
                    ended.set(true);
                    return Replies.object().put("slots", 5);
                });
        threads.shutdown();
        assertTrue(threads.awaitTermination(10, TimeUnit.SECONDS));
        List<JsonNode> said = new ArrayList<>();
        for (String line : out.toString(StandardCharsets.UTF_8).lines().toList()) {
            said.add(new ObjectMapper().readTree(line));
        }
        return said;
    }
}
