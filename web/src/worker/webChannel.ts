import type { Report } from "../engine/report.js";
import type { Channel, ChannelEvents } from "./channel.js";
import type { Reply } from "./protocol.js";

/** Starts workers of a page or of another worker. */
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
      event.preventDefault(); // the calls that fail by it tell
      events.lost(event.message || `${script} could not be loaded`);
    };
    // A busy worker that was terminated keeps its locks for up to two seconds more.
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
    // Of another origin: a script of the page's own may still import it.
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

/** A browser says nothing when a worker is terminated, but it takes its locks away. */
async function whenFree(lock: string): Promise<void> {
  await navigator.locks.request(lock, () => undefined);
}
