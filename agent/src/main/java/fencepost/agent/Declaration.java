package fencepost.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;

/**
 * One defect as {@code defects/NAME.properties} declares it; the Python part reads the same file.
 *
 * <p>{@code arguments} is the number of the method's parameters, or null where its name is enough.
 */
record Declaration(
        String name, String type, String method, Integer arguments, String advice, Map<String, String> trigger) {
    /** Reads a declaration; {@link RefusedException} for a name without one. */
    static Declaration load(String name) {
        Properties text = new Properties();
        try (InputStream stream = Declaration.class.getResourceAsStream("defects/" + name + ".properties")) {
            if (stream == null) {
                throw new RefusedException("no defect has this name");
            }
            text.load(stream);
        } catch (IOException error) {
            throw new RefusedException("its declaration cannot be read: " + error.getMessage());
        }
        return new Declaration(
                name,
                text.getProperty("type"),
                text.getProperty("method"),
                text.containsKey("arguments") ? Integer.valueOf(text.getProperty("arguments")) : null,
                "fencepost.agent.defects." + text.getProperty("advice"),
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
