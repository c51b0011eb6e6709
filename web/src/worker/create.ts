import { UnsupportedError } from "../base/errors.js";
import { Attention } from "../instance/attention.js";
import { OPERATION, readCreateOptions, type CreateOptions as AllOptions } from "../instance/createOptions.js";
import { addressOf, engineFiles, type Place } from "../load/engineFiles.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import type { Spawn } from "./channel.js";
import { lateParts } from "./lateParts.js";
import { WorkerEngine } from "./workerEngine.js";

/**
 * Options of `createAttention`, without `device` and `gpu`: a device belongs to one thread and cannot be sent to
 * another.
 */
export type CreateOptions = Omit<AllOptions, "device" | "gpu">;

/** createAttention with the engine in a worker. It tells the worker where the engine's files are. */
export async function createInWorker(
  place: Place,
  spawnAt: (script: string) => Spawn,
  given: unknown,
): Promise<Attention> {
  const { signal, onProgress, device, gpu, source, ...options } = readCreateOptions(given);
  for (const [name, value] of Object.entries({ device, gpu }))
    if (value) throw new UnsupportedError(`${OPERATION}: ${name} cannot be sent to a worker: use headwise instead`);
  throwIfAborted(signal);
  const files = engineFiles(OPERATION, place, source);
  const spawn = spawnAt(addressOf(OPERATION, files, "worker"));
  const { opened, close } = WorkerEngine.open(OPERATION, spawn, { ...options, source, files }, onProgress);
  try {
    return Attention.over(await beforeAbort(opened, signal), lateParts, options);
  } catch (error) {
    close();
    throw error;
  }
}
