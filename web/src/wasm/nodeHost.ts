import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

import { AssetError } from "../errors.js";
import { assetHint } from "./assetErrors.js";
import { checkWasm, fetchWasm } from "./fetchAsset.js";
import { loadFiles, loadPart, type ReadWasm } from "./files.js";
import { MOST_THREADS_BY_DEFAULT, type GpuModule, type Host } from "./host.js";

const files = {
  simd: {
    glueUrl: new URL("./wasm/headwise.simd.node.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.simd.wasm", import.meta.url).href,
  },
  relaxed: {
    glueUrl: new URL("./wasm/headwise.relaxed.node.js", import.meta.url).href,
    wasmUrl: new URL("./wasm/headwise.relaxed.wasm", import.meta.url).href,
  },
};

/** Node, and engines that follow it. */
export const nodeHost: Host = {
  variants: ["simd", "relaxed"],
  threads() {
    if ("bun" in process.versions) return { most: 1, good: 1, reason: "Bun hangs with a pool of wasm threads" };
    return { most: Infinity, good: Math.min(availableParallelism(), MOST_THREADS_BY_DEFAULT) };
  },
  load: (options) => loadFiles(files[options.variant], read, options),
  loadGpu: (operation) => loadPart<GpuModule>(operation, new URL("./webgpu-engine.js", import.meta.url).href),
};

const read: ReadWasm = async (url, options) => {
  if (!url.startsWith("file:")) return fetchWasm(url, options);
  const bytes = await readWasm(url, options.signal);
  checkWasm(url, bytes, "a file");
  options.onProgress?.({ phase: "download", loaded: bytes.length, total: bytes.length });
  return bytes;
};

async function readWasm(url: string, signal: AbortSignal | undefined): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await readFile(fileURLToPath(url), signal ? { signal } : {}));
  } catch (cause) {
    signal?.throwIfAborted();
    throw new AssetError(`createAttention: ${url} could not be read: ${String(cause)}`, {
      cause,
      hint: assetHint(url),
    });
  }
}
