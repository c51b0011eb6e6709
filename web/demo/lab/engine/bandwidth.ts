import { copyFor, type CopyRequest, type CopyReply } from "./copying.js";

/** The arrays of all threads together. They are larger than the caches of most machines. */
const TOTAL_BYTES = 2 ** 27;
const MILLISECONDS = 60;
const ROUNDS = 3;

/** How fast threads copy memory together: bytes read and bytes written a second, the best of some rounds. */
export async function bandwidth(threads: number): Promise<number> {
  if (threads === 1) return best(() => Promise.resolve([copyFor(MILLISECONDS, TOTAL_BYTES)]));
  const workers = Array.from(
    { length: threads },
    () => new Worker(new URL("./copyWorker.ts", import.meta.url), { type: "module" }),
  );
  const request = { milliseconds: MILLISECONDS, bytes: TOTAL_BYTES / threads };
  try {
    await Promise.all(workers.map((worker) => ask(worker, { ...request, milliseconds: 0 }))); // they have started
    return await best(() => Promise.all(workers.map((worker) => ask(worker, request))));
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

async function best(rates: () => Promise<readonly number[]>): Promise<number> {
  let highest = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const together = (await rates()).reduce((sum, rate) => sum + rate, 0);
    highest = Math.max(highest, together);
  }
  return highest;
}

function ask(worker: Worker, request: CopyRequest): Promise<CopyReply> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<CopyReply>) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message || "the worker that copies could not be loaded"));
    worker.postMessage(request);
  });
}
