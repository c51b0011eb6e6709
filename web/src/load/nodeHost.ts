import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import type { GpuModule } from "../engine/gpuModule.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import { ALLOW_WORKER, assetHint, permissionHint } from "./assetErrors.js";
import type { EngineFiles } from "./engineFiles.js";
import { checkWasm, fetchWasm, type ReadOptions } from "./fetchAsset.js";
import { loadFiles, loadPart } from "./files.js";
import { MOST_THREADS_BY_DEFAULT, type Host } from "./host.js";
import type { ReadWasm } from "./moduleFile.js";

/** Node and compatible runtimes. `files` are the addresses of the engine's files. */
export const nodeHost = (files: EngineFiles): Host => ({
  variants: ["simd", "relaxed"],
  threads() {
    const reason = reasonForOneThread();
    if (reason !== undefined) return { most: 1, good: 1, reason };
    return { most: Infinity, good: Math.min(availableParallelism(), MOST_THREADS_BY_DEFAULT) };
  },
  load: (options) => loadFiles(files, read, options),
  loadGpu: (operation) => loadPart<GpuModule>(operation, files, "gpu"),
});

/** Why this process cannot have threads; undefined if it can. */
function reasonForOneThread(): string | undefined {
  if ("bun" in process.versions) return "Bun hangs with a pool of wasm threads";
  // Node has `permission` only with its permission model.
  const { permission } = process as { readonly permission?: { has(scope: string): boolean } };
  if (permission?.has("worker") === false) return `Node's permission model forbids workers: ${ALLOW_WORKER}`;
  return undefined;
}

const read: ReadWasm = async (url, options) => {
  if (!url.startsWith("file:")) return fetchWasm(url, options);
  const bytes = await readWasm(url, options);
  checkWasm(url, bytes, "a file", options);
  options.onProgress?.({ phase: "download", loaded: bytes.length, total: bytes.length });
  return { bytes };
};

async function readWasm(url: string, { operation, signal }: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await beforeAbort(readFile(fileURLToPath(url)), signal));
  } catch (cause) {
    throwIfAborted(signal);
    const forbidden = permissionHint(cause);
    throw new AssetError(`${operation}: ${url} could not be read: ${thrownText(cause)}`, {
      code: forbidden ? "ASSET_BLOCKED" : "ASSET_NOT_FOUND",
      cause,
      hint: forbidden ?? assetHint(url),
    });
  }
}
