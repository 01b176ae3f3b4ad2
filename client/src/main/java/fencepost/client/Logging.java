package fencepost.client;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Keeps the log apart from the replies. Must come first: before any class of BookKeeper is touched. */
public final class Logging {
    private Logging() {
    }

    /** Sends everything that is printed to stderr; returns the stream to stdout for the replies. */
    public static PrintStream redirect() {
        System.setOut(System.err);
        setUnlessSet("log4j2.configurationFile", "classpath:fencepost-client-log4j2.xml");
        setUnlessSet("log4j.configuration", "fencepost-client-log4j.properties"); // the clients of 4.14
        return new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    }

    private static void setUnlessSet(String name, String value) {
        if (System.getProperty(name) == null) {
            System.setProperty(name, value);
        }
    }
}
