package fencepost.agent;

import java.util.LinkedHashMap;
import java.util.Map;

/** What the option of the command line asks for: a defect's name, and settings of its trigger. */
record Order(String name, Map<String, String> settings) {
    /** Reads {@code NAME[,key=value...]}. */
    static Order parse(String argument) {
        if (argument == null || argument.isBlank()) {
            throw new RefusedException("no defect is named");
        }
        String[] parts = argument.split(",");
        Map<String, String> settings = new LinkedHashMap<>();
        for (int index = 1; index < parts.length; index++) {
            put(parts[index], settings);
        }
        return new Order(parts[0], settings);
    }

    /** Adds one {@code key=value}. */
    static void put(String text, Map<String, String> settings) {
        int equals = text.indexOf('=');
        if (equals <= 0) {
            throw new RefusedException("a trigger is key=value, not " + text);
        }
        settings.put(text.substring(0, equals), text.substring(equals + 1));
    }
}
