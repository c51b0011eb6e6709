/**
 * Limits work that is requested often. One run is active at a time. Requests during a run cause one more run after it.
 * An error of a run goes to `onFailure`, unless another run comes after it.
 */
export function latest(work: () => Promise<void>, onFailure: (error: unknown) => void): () => void {
  let running = false;
  let asked = false;
  const run = async () => {
    running = true;
    do {
      asked = false;
      await work().catch((error: unknown) => asked || onFailure(error));
    } while (asked);
    running = false;
  };
  return () => {
    asked = true;
    if (!running) void run();
  };
}
