package fencepost.client;

import com.fasterxml.jackson.databind.JsonNode;

/** The fields of one command. Every getter says in its error which field is wrong. */
public final class Parameters {
    private final JsonNode node;

    /** The fields of {@code node}, an object. */
    public Parameters(JsonNode node) {
        this.node = node;
    }

    /** Whether the field is there and not null. */
    public boolean has(String name) {
        return node.hasNonNull(name);
    }

    /** A text. */
    public String text(String name) throws CommandException {
        JsonNode value = required(name);
        if (!value.isTextual()) {
            throw wrong(name, "a text", value);
        }
        return value.textValue();
    }

    /** A text or {@code otherwise}. */
    public String text(String name, String otherwise) throws CommandException {
        return has(name) ? text(name) : otherwise;
    }

    /** A whole number. */
    public long number(String name) throws CommandException {
        JsonNode value = required(name);
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            throw wrong(name, "a whole number", value);
        }
        return value.longValue();
    }

    /** A whole number or {@code otherwise}. */
    public long number(String name, long otherwise) throws CommandException {
        return has(name) ? number(name) : otherwise;
    }

    /** A whole number of at least {@code least}, or {@code otherwise}. */
    public int count(String name, int least, int otherwise) throws CommandException {
        long value = number(name, otherwise);
        if (value < least || value > Integer.MAX_VALUE) {
            throw wrong(name, "a whole number of at least " + least, node.get(name));
        }
        return (int) value;
    }

    /** A number, perhaps with a fraction, or {@code otherwise}. */
    public double real(String name, double otherwise) throws CommandException {
        if (!has(name)) {
            return otherwise;
        }
        if (!node.get(name).isNumber()) {
            throw wrong(name, "a number", node.get(name));
        }
        return node.get(name).doubleValue();
    }

    /** A truth value or false. */
    public boolean flag(String name) throws CommandException {
        if (!has(name)) {
            return false;
        }
        if (!node.get(name).isBoolean()) {
            throw wrong(name, "true or false", node.get(name));
        }
        return node.get(name).booleanValue();
    }

    /** An array. */
    public JsonNode array(String name) throws CommandException {
        JsonNode value = required(name);
        if (!value.isArray()) {
            throw wrong(name, "a list", value);
        }
        return value;
    }

    /** An object, empty when it is missing. */
    public JsonNode object(String name) throws CommandException {
        if (!has(name)) {
            return Replies.object();
        }
        if (!node.get(name).isObject()) {
            throw wrong(name, "an object", node.get(name));
        }
        return node.get(name);
    }

    private JsonNode required(String name) throws CommandException {
        if (!has(name)) {
            throw CommandException.badRequest("the field " + name + " is missing");
        }
        return node.get(name);
    }

    private static CommandException wrong(String name, String wanted, JsonNode value) {
        return CommandException.badRequest("the field " + name + " must be " + wanted + ", not " + value);
    }
}
