package fencepost.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * One defect as {@code defects/NAME.properties} declares it, or one cure of {@code cures}; the Python part reads
 * the same files.
 *
 * <p>{@code arguments} is the number of the method's parameters, or null where its name is enough.
 */
record Declaration(
        String name, String type, String method, Integer arguments, String advice, Map<String, String> trigger) {
    private static final List<String> FOLDERS = List.of("defects", "cures");

    /** Reads a declaration; {@link RefusedException} for a name without one. */
    static Declaration load(String name) {
        for (String folder : FOLDERS) {
            try (InputStream stream = Declaration.class.getResourceAsStream(folder + "/" + name + ".properties")) {
                if (stream != null) {
                    return read(name, folder, stream);
                }
            } catch (IOException error) {
                throw new RefusedException("its declaration cannot be read: " + error.getMessage());
            }
        }
        throw new RefusedException("no defect and no cure has this name");
    }

    private static Declaration read(String name, String folder, InputStream stream) throws IOException {
        Properties text = new Properties();
        text.load(stream);
        return new Declaration(
                name,
                text.getProperty("type"),
                text.getProperty("method"),
                text.containsKey("arguments") ? Integer.valueOf(text.getProperty("arguments")) : null,
                "fencepost.agent." + folder + "." + text.getProperty("advice"),
                trigger(text.getProperty("trigger", "")));
    }

    private static Map<String, String> trigger(String text) {
        Map<String, String> settings = new LinkedHashMap<>();
        for (String part : text.isEmpty() ? new String[0] : text.split(",")) {
            Order.put(part, settings);
        }
        return settings;
    }
}
