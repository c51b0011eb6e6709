import type { Attention } from "../instance/attention.js";
import { nodePlace } from "../wasm/nodePlace.js";
import { createInWorker, type CreateOptions } from "../worker/create.js";
import { spawnNodeWorker } from "../worker/nodeChannel.js";

export type { CreateOptions } from "../worker/create.js";
export * from "./exports.js";

/** As in a browser, with a worker of Node; it does not keep the process alive while no call is pending. */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createInWorker(nodePlace, spawnNodeWorker, options);
}
