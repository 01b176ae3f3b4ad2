package fencepost.agent;

/** One line of JSON on stderr after the word {@code fencepost-agent}, from which the harness reads. */
final class Line {
    private final StringBuilder text = new StringBuilder("fencepost-agent {");

    private Line() {}

    static Line of(String event, String defect) {
        Line line = new Line();
        line.text.append("\"event\":\"").append(event).append('"');
        return line.with("defect", defect);
    }

    Line with(String key, String value) {
        String safe = String.valueOf(value).replace("\\", "\\\\").replace("\"", "'").replaceAll("\\p{Cntrl}", " ");
        text.append(",\"").append(key).append("\":\"").append(safe).append('"');
        return this;
    }

    Line with(String key, long value) {
        text.append(",\"").append(key).append("\":").append(value);
        return this;
    }

    @Override
    public String toString() {
        return text + "}";
    }

    void print() {
        System.err.println(this);
    }
}
