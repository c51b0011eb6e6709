import type { GpuModule } from "../openGpu.js";
import { version } from "../version.js";
import { versionError } from "./assetErrors.js";
import { compiled } from "./compile.js";
import { importFailure, type ReadOptions } from "./fetchAsset.js";
import type { EngineParts, LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import type { WasmModuleFactory } from "./module.js";

/** The files that a variant is made of. */
export interface Assets {
  readonly glueUrl: string;
  readonly wasmUrl: string;
}

/** Reads the bytes of a wasm file. */
export type ReadWasm = (url: string, options: ReadOptions) => Promise<Uint8Array<ArrayBuffer>>;

/** Loads an engine that lies in files of its own: the package's, or those that the caller names. */
export async function loadFiles(assets: Assets, read: ReadWasm, options: LoadOptions): Promise<EngineParts> {
  const glueUrl = options.source.glueUrl ?? assets.glueUrl;
  const [glue, module] = await Promise.all([
    importGlue(glueUrl, options),
    compiledModule(options.source.url ?? assets.wasmUrl, read, options),
  ]);
  return { ...glue, module, name: glueUrl, isShared: true };
}

/** Loads the WebGPU engine from its file. */
export async function loadGpuFile(url: string): Promise<GpuModule> {
  let module: GpuModule;
  try {
    module = (await importFile(url)) as GpuModule;
  } catch (cause) {
    throw await importFailure(url, cause, undefined);
  }
  if (module.version !== version) throw versionError(url, String(module.version));
  return module;
}

/** No bundler may look inside: the file is an asset, and stays where it is. */
function importFile(url: string): Promise<unknown> {
  const importing = import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url);
  return inTime(importing, `${url} was not loaded`, "Check the network and the address.");
}

async function importGlue(
  url: string,
  { threads, signal }: LoadOptions,
): Promise<Pick<EngineParts, "factory" | "started">> {
  try {
    // Threads start from the loader's own address, and a page may start workers from its own origin only.
    const own = threads > 1 && isForeign(url) ? await copyOfOwn(url, signal) : undefined;
    try {
      const glue = (await importFile(own ?? url)) as { readonly default: WasmModuleFactory };
      return { factory: glue.default, ...(own && { started: () => URL.revokeObjectURL(own) }) };
    } catch (cause) {
      if (own) URL.revokeObjectURL(own);
      throw cause;
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw await importFailure(url, cause, signal);
  }
}

function isForeign(url: string): boolean {
  const { origin } = globalThis as { readonly origin?: string };
  return origin !== undefined && /^https?:/.test(url) && new URL(url).origin !== origin;
}

async function copyOfOwn(url: string, signal: AbortSignal | undefined): Promise<string> {
  const response = await fetch(url, signal ? { signal } : {});
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "text/javascript" }));
}

async function compiledModule(
  url: string,
  read: ReadWasm,
  { source, signal, onProgress }: LoadOptions,
): Promise<WebAssembly.Module> {
  if (source.module) return source.module;
  const bytes = source.binary ?? (await read(url, { signal, onProgress }));
  return compiled(bytes, source.binary ? "wasm.binary" : url);
}
