package fencepost.client;

/** The end of a client that cannot go on. */
final class Fatal {
    /** Exit code of a client that could not start or could not go on. */
    static final int EXIT_CODE = 1;

    private Fatal() {
    }

    /** Reports the reason to the caller, and ends this process at once. */
    static void end(Replies replies, Throwable why) {
        why.printStackTrace();
        String message = why.getClass().getSimpleName() + ": " + why.getMessage();
        replies.send(Replies.object().put("event", "fatal").put("message", message));
        Runtime.getRuntime().halt(EXIT_CODE);
    }
}
