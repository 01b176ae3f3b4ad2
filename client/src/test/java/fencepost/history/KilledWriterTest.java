package fencepost.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.io.TempDir;

class KilledWriterTest {
    private static final long FIRST = (1L << 40) + 1;

    @TempDir
    Path folder;

    @RepeatedTest(3)
    void killingTheProcessLosesNothingThatWasRecorded(RepetitionInfo repetition) throws Exception {
        long known = recordUntilKilled(FIRST + 40_000L * repetition.getCurrentRepetition());
        long due = FIRST;
        List<HistoryFile> files = HistoryFile.all(folder);
        for (HistoryFile file : files) {
            int used = file.used();
            for (int slot = 0; slot < used; slot++) {
                ByteBuffer invoked = file.invoked(slot);
                boolean last = file == files.get(files.size() - 1) && slot == used - 1;
                assertTrue(HistoryFile.isSound(invoked) || last, "slot " + due + " is torn and not the last");
                assertTrue(invoked.getLong(0) == due || last);
                due++;
            }
        }
        assertTrue(due > known, "the history ends before " + due + ", but " + known + " was recorded");
    }

    private long recordUntilKilled(long until) throws IOException, InterruptedException {
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", System.getProperty("java.class.path"), KilledWriter.class.getName(), folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        long known = 0;
        try (BufferedReader out = new BufferedReader(
                new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            while (known < until) {
                known = Long.parseLong(out.readLine());
            }
            child.destroyForcibly();
        }
        assertEquals(128 + 9, child.waitFor());
        return known;
    }
}
