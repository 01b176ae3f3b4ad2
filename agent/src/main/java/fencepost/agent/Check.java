package fencepost.agent;

/** Loads and verifies the classes that the arguments name, so that defects are tried without a server. */
public final class Check {
    private Check() {}

    /** Exits with an error when a changed class does not verify. */
    public static void main(String[] types) throws ClassNotFoundException {
        for (String type : types) {
            Class.forName(type, true, Check.class.getClassLoader());
        }
    }
}
