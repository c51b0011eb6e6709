import type { Channel, ChannelEvents } from "./channel.js";
import type { Reply } from "./protocol.js";

/** A Worker of a page or of another worker. */
export function spawnWebWorker(events: ChannelEvents): Channel {
  const { worker, url } = startWorker();
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if (data.kind === "ready" && data.lock) void whenFree(data.lock).then(() => events.lost("it was terminated"));
    events.reply(data);
  };
  worker.onmessageerror = () => events.lost("a message of it could not be read");
  worker.onerror = (event) => {
    event.preventDefault(); // the calls that fail by it tell
    events.lost(event.message || `${url} could not be loaded`);
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
}

/** The entry in a worker of its own. The literal is what bundlers look for. */
function startWorker(): { readonly worker: Worker; readonly url: string } {
  const { href: url } = new URL("./worker-entry.js", import.meta.url);
  try {
    return { worker: new Worker(new URL("./worker-entry.js", import.meta.url), { type: "module" }), url };
  } catch {
    // Of another origin: a script of the page's own may still import it.
    const own = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
    return { worker: new Worker(own, { type: "module" }), url };
  }
}

/** A browser says nothing when a worker is terminated, but it takes its locks away. */
async function whenFree(lock: string): Promise<void> {
  await navigator.locks.request(lock, () => undefined);
}
