/**
 * Work that is asked for faster than it is done: one run at a time, and after it one more if something was asked for
 * meanwhile. What a run throws goes to `onFailure`.
 */
export function latest(work: () => Promise<void>, onFailure: (error: unknown) => void): () => void {
  let running = false;
  let asked = false;
  const run = async () => {
    running = true;
    do {
      asked = false;
      await work().catch(onFailure);
    } while (asked);
    running = false;
  };
  return () => {
    asked = true;
    if (!running) void run();
  };
}
