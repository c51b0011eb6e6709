import type { Attention } from "../instance/attention.js";
import { nodePlace } from "../load/nodePlace.js";
import { createInWorker, type CreateOptions } from "../worker/create.js";
import { spawnNodeWorker } from "../worker/nodeChannel.js";

export type { CreateOptions } from "../worker/create.js";
export * from "./exports.js";

/**
 * Makes an instance whose engine runs in a worker of Node. The worker keeps the process alive only while a call is
 * pending.
 *
 * @throws The errors of createAttention of `headwise/worker` in a browser.
 */
export function createAttention(options?: CreateOptions): Promise<Attention> {
  return createInWorker(nodePlace, spawnNodeWorker, options);
}
