import { Worker } from "node:worker_threads";

import { isObject } from "../base/describe.js";
import { thrownText } from "../base/thrown.js";
import { assetHint } from "../load/assetErrors.js";
import type { Channel, ChannelEvents, StartFailure } from "./channel.js";
import type { Reply } from "./protocol.js";
import { notStarted } from "./startFailure.js";

/** Starts workers of Node. */
export const spawnNodeWorker =
  (script: string) =>
  (events: ChannelEvents): Channel => {
    // Without `execArgv`, workers get the flags of the command line. With some flags (`--input-type` with `--eval`) no
    // worker starts. Turbopack takes `new Worker` of an address that it does not know for every file of the folder, and
    // then refuses the types of the package.
    const worker = Reflect.construct(Worker, [new URL(script), { execArgv: [] }]);
    let isReady = false;
    worker.on("message", (reply: Reply) => {
      isReady ||= reply.kind === "ready";
      events.reply(reply);
    });
    worker.on("messageerror", events.lost);
    const lost = (reason: unknown) =>
      isReady ? events.lost(reason) : events.unstarted(Promise.resolve(scriptFailure(script, reason)));
    worker.on("error", lost);
    worker.on("exit", (code) => lost(`it ended with code ${code}`));
    return {
      post: (request, transfer) => worker.postMessage(request, transfer),
      keepAlive: (alive) => (alive ? worker.ref() : worker.unref()),
      terminate: () => void worker.terminate(),
    };
  };

/** Why a script did not start, from what Node says. */
function scriptFailure(script: string, thrown: unknown): StartFailure {
  const { code } = isObject(thrown) ? (thrown as { readonly code?: unknown }) : {};
  const failed = { reason: `${script} failed: ${thrownText(thrown)}`, hint: assetHint(script), cause: thrown };
  if (/MODULE_NOT_FOUND$/.test(String(code))) return { ...failed, code: "ASSET_NOT_FOUND" };
  // Node itself refuses: its permission model, or no memory for a worker
  if (code === "ERR_ACCESS_DENIED" || String(code).startsWith("ERR_WORKER_")) return notStarted(thrown);
  return { ...failed, code: "ASSET_INVALID" };
}
