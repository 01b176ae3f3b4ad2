package fencepost.history;

/**
 * Whose history it is.
 *
 * @param client the client's name in the plan, ASCII, at most 32 bytes
 * @param number its number in the run
 * @param boot number of its present life, from 1
 * @param runId the run, an unsigned 64-bit number
 */
public record Identity(String client, int number, int boot, long runId) {
}
