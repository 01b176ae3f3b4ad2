package fencepost.client;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.api.BKException;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** Makes BookKeeper's client from a properties file. */
final class Connection {
    private static final String SERVICE_URI = "metadataServiceUri";
    /** BookKeeper's default lets a handle add no more than 5,000 entries a second. */
    private static final String THROTTLE = "throttle";

    private Connection() {
    }

    /** Connects; {@code conf} may be null, and its metadata service wins over {@code zookeeper}. */
    static BookKeeper open(Path conf, String zookeeper) throws IOException, InterruptedException, BKException {
        ClientConfiguration configuration = new ClientConfiguration();
        Properties properties = read(conf);
        properties.putIfAbsent(SERVICE_URI, "zk+hierarchical://" + zookeeper + "/ledgers");
        properties.putIfAbsent(THROTTLE, "0");
        for (String name : properties.stringPropertyNames()) {
            configuration.setProperty(name, properties.getProperty(name).strip());
        }
        return BookKeeper.forConfig(configuration).build();
    }

    /** The version of the client on the class path, {@code unknown} if its jar does not say. */
    static String version() throws IOException {
        Properties pom = new Properties();
        try (var in = BookKeeper.class.getResourceAsStream(
                "/META-INF/maven/org.apache.bookkeeper/bookkeeper-server/pom.properties")) {
            if (in != null) {
                pom.load(in);
            }
        }
        return pom.getProperty("version", "unknown");
    }

    private static Properties read(Path conf) throws IOException {
        Properties properties = new Properties();
        if (conf != null) {
            try (Reader in = Files.newBufferedReader(conf, StandardCharsets.UTF_8)) {
                properties.load(in);
            }
        }
        return properties;
    }
}
