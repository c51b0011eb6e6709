import { Worker } from "node:worker_threads";

import type { Channel, ChannelEvents } from "./channel.js";
import type { Reply } from "./protocol.js";

/** Starts workers of Node. */
export const spawnNodeWorker =
  (script: string) =>
  (events: ChannelEvents): Channel => {
    // Without this, workers get the flags of the command line. With some flags (`--input-type` with `--eval`) no worker
    // starts.
    const worker = new Worker(new URL(script), { execArgv: [] });
    worker.on("message", (reply: Reply) => events.reply(reply));
    worker.on("messageerror", events.lost);
    worker.on("error", events.lost);
    worker.on("exit", (code) => events.lost(`it ended with code ${code}`));
    return {
      post: (request, transfer) => worker.postMessage(request, transfer),
      keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
      terminate: () => void worker.terminate(),
    };
  };
