import type { Report } from "../engine/report.js";
import { isInlined } from "../load/inlined.js";
import { PolicyWatch } from "../load/policyWatch.js";
import type { Channel, ChannelEvents } from "./channel.js";
import type { Reply } from "./protocol.js";
import { scriptFailure } from "./scriptFailure.js";

/** Starts workers from a page or from another worker. */
export const spawnWebWorker =
  (script: string) =>
  (events: ChannelEvents): Channel => {
    const { worker, address } = startWorker(script);
    const policy = new PolicyWatch();
    /** The script has run, or never will. */
    const settled = () => {
      policy.end();
      URL.revokeObjectURL(address); // no effect on other addresses than those of blobs
    };
    let [isReady, isWatched] = [false, false];
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.kind === "ready") {
        isReady = true;
        settled();
      }
      if (data.kind === "ready" && data.lock) {
        isWatched = true;
        void whenFree(data.lock).then(() => events.lost("it was terminated"));
      }
      events.reply(data.kind === "opened" && !isWatched ? { ...data, report: unwatched(data.report) } : data);
    };
    worker.onmessageerror = () => events.lost("a message of it could not be read");
    worker.onerror = (event) => {
      event.preventDefault(); // the rejected calls report it
      if (isReady) events.lost(event.message);
      else events.unstarted(scriptFailure(script, event.message, () => policy.violationBy(address)));
    };
    // After terminate() a busy worker may keep its locks for up to two seconds.
    const terminate = () => {
      settled();
      Worker.prototype.terminate.call(worker);
    };
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

/** A worker, and the address that it was started from. */
function startWorker(url: string): { readonly worker: Worker; readonly address: string } {
  const start = (address: string) => ({ worker: new Worker(address, { type: "module" }), address });
  // A worker whose own address is `data:` has an opaque origin, and therefore one thread.
  if (isInlined(url)) return start(importing(url));
  try {
    return start(url);
  } catch {
    return start(importing(url));
  }
}

/**
 * The address of a script that imports a script of another origin, or one that a bundler has inlined. The page may start it, because it is the page's own.
 * From a page whose origin is opaque (a sandboxed frame) Chromium starts no module that is a blob.
 */
function importing(url: string): string {
  const source = `import ${JSON.stringify(url)};`;
  return globalThis.origin === "null"
    ? `data:text/javascript,${encodeURIComponent(source)}`
    : URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
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
