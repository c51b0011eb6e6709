import { thrownText } from "../base/thrown.js";
import { workerHint } from "../load/assetErrors.js";
import type { StartFailure } from "./channel.js";

const OTHERWISE =
  "Check that worker-entry.js is served beside worker.js and that worker-src allows it; in Node, that " +
  "worker-entry.node.js lies beside worker.node.js.";

/** The failure to start a worker, if its reason is what was thrown, or what the channel says. */
export function notStarted(reason: unknown): StartFailure {
  return { reason: thrownText(reason), code: "ASSET_BLOCKED", hint: workerHint(reason, OTHERWISE), cause: reason };
}
