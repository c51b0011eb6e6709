import { Attention } from "../attention.js";
import { OPERATION, readCreateOptions, type CreateOptions as AllOptions } from "../createOptions.js";
import { UnsupportedError } from "../errors.js";
import { beforeAbort } from "../queue.js";
import type { BrowserFiles } from "../wasm/browserFiles.js";
import { RemoteBackend } from "./backend.js";
import type { Spawn } from "./channel.js";

/** Options of `createAttention`. What belongs to one thread, a device, cannot be handed to another. */
export type CreateOptions = Omit<AllOptions, "device" | "gpu">;

/** createAttention with the engine in a worker, which a browser's page tells where the engine's files are. */
export async function createInWorker(spawn: Spawn, given: unknown, files?: BrowserFiles): Promise<Attention> {
  const { signal, onProgress, device, gpu, ...options } = readCreateOptions(given);
  for (const [name, value] of Object.entries({ device, gpu }))
    if (value) throw new UnsupportedError(`${OPERATION}: ${name} cannot be sent to a worker: use headwise instead`);
  signal?.throwIfAborted();
  const source = {
    ...options.source,
    ...absolute(options.source.url, "url"),
    ...absolute(options.source.glueUrl, "glueUrl"),
  };
  const { opened, close } = RemoteBackend.open(OPERATION, spawn, { ...options, source, files }, onProgress);
  try {
    return Attention.over(await (signal ? beforeAbort(opened, signal) : opened));
  } catch (error) {
    close();
    throw error;
  }
}

/** An address as the page means it: a worker would read it from where its own script lies. */
function absolute(url: string | undefined, name: "url" | "glueUrl") {
  const base = typeof document === "object" ? document.baseURI : (globalThis.location as Location | undefined)?.href;
  return url === undefined || base === undefined ? {} : { [name]: new URL(url, base).href };
}
