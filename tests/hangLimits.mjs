// No test asserts a time, and a slow or busy machine passes. These limits only end what hangs: they are at least ten times
// what the slowest test takes on a quiet machine of two cores.

/** A test, or what prepares the tests of a file. */
export const TEST_MILLISECONDS = 5 * 60_000;

/** One thing that a test waits for: a program, a page, a browser. It is shorter, so that the error says what did not come. */
export const WAIT_MILLISECONDS = 4 * 60_000;
