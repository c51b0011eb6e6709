import type { Report } from "../engine/report.js";
import type { Channel, ChannelEvents } from "./channel.js";
import type { Reply } from "./protocol.js";

/** Starts workers from a page or from another worker. */
export const spawnWebWorker =
  (script: string) =>
  (events: ChannelEvents): Channel => {
    const worker = startWorker(script);
    let isWatched = false;
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.kind === "ready" && data.lock) {
        isWatched = true;
        void whenFree(data.lock).then(() => events.lost("it was terminated"));
      }
      events.reply(data.kind === "opened" && !isWatched ? { ...data, report: unwatched(data.report) } : data);
    };
    worker.onmessageerror = () => events.lost("a message of it could not be read");
    worker.onerror = (event) => {
      event.preventDefault(); // the rejected calls report it
      events.lost(event.message || `${script} could not be loaded`);
    };
    // After terminate() a busy worker may keep its locks for up to two seconds.
    const terminate = () => Worker.prototype.terminate.call(worker);
    worker.terminate = () => {
      terminate();
      events.lost("it was terminated");
    };
    return {
      post: (request, transfer) => worker.postMessage(request, [...transfer]),
      keepAlive: () => undefined,
      terminate,
    };
  };

function startWorker(url: string): Worker {
  try {
    return new Worker(url, { type: "module" });
  } catch {
    // The script has another origin. A script of the page's own origin may import it.
    const own = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
    return new Worker(own, { type: "module" });
  }
}

function unwatched(report: Report): Report {
  const worker =
    "page has no locks (it is not served by https), so nobody tells if the browser ends the engine's worker by itself: " +
    "give calls a signal with a time-out";
  return { ...report, reasons: { ...report.reasons, worker } };
}

/** Resolves when the worker has ended. A browser sends no event for that, but it frees the worker's locks. */
async function whenFree(lock: string): Promise<void> {
  await navigator.locks.request(lock, () => undefined);
}
