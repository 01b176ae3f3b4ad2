package fencepost.agent;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.bytebuddy.agent.ByteBuddyAgent;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Puts the advice of every defect and cure into BookKeeper's classes, once in a JVM; a test then orders what
 * acts in it, and reads what the agent reports.
 *
 * <p>A class can only be changed when it is loaded, and JUnit loads the classes in the signatures of a test's
 * methods early: no signature may name a changed class.
 */
public final class Seeded implements BeforeEachCallback, AfterEachCallback {
    private static final Path RESOURCES = Path.of("src/main/resources/fencepost/agent");

    private final PrintStream stderr = System.err;
    private final ByteArrayOutputStream reports = new ByteArrayOutputStream();

    static {
        Instrumentation instrumentation = ByteBuddyAgent.install();
        Set<String> loaded = new HashSet<>();
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            loaded.add(type.getName());
        }
        for (Declaration declaration : declarations()) {
            if (loaded.contains(declaration.type())) {
                throw new IllegalStateException(declaration.type() + " is loaded already and cannot be changed");
            }
            Agent.change(declaration, instrumentation);
        }
    }

    /** Every declared defect and cure. */
    static List<Declaration> declarations() {
        List<Declaration> all = new ArrayList<>();
        for (String folder : List.of("defects", "cures")) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(RESOURCES.resolve(folder))) {
                for (Path file : files) {
                    all.add(Declaration.load(file.getFileName().toString().replace(".properties", "")));
                }
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
        return all;
    }

    /** Lets the named defect or cure act in this test; {@code order} is as on the command line. */
    public void order(String order) {
        Order parsed = Order.parse(order);
        Declaration declaration = Declaration.load(parsed.name());
        Seeds.install(parsed.name(), Trigger.of(declaration.trigger(), parsed.settings()));
    }

    /** How many acts the agent has reported in this test. */
    public long acts() {
        return lines().stream().filter(line -> line.contains("\"event\":\"acted\"")).count();
    }

    List<String> lines() {
        return reports.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.startsWith("fencepost-agent "))
                .toList();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        System.setErr(new PrintStream(reports, true, StandardCharsets.UTF_8));
    }

    @Override
    public void afterEach(ExtensionContext context) {
        System.setErr(stderr);
        Seeds.INSTALLED.clear();
    }
}
