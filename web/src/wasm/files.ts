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

/** Loads a part of the package that is a file of its own. */
export async function loadPart<P extends { readonly version: string }>(operation: string, url: string): Promise<P> {
  let part: P;
  try {
    part = (await importFile(url, operation)) as P;
  } catch (cause) {
    throw await importFailure(url, cause, undefined, operation);
  }
  if (part.version !== version) throw versionError(url, String(part.version), operation);
  return part;
}

/** No bundler may look inside: the file is an asset, and stays where it is. */
function importFile(url: string, operation?: string): Promise<unknown> {
  const importing = import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url);
  return inTime(importing, `${url} was not loaded`, "Check the network and the address.", operation);
}

async function importGlue(
  url: string,
  { threads, signal }: LoadOptions,
): Promise<Pick<EngineParts, "factory" | "started">> {
  let own: string | undefined;
  const forget = () => own && URL.revokeObjectURL(own);
  try {
    // Threads start from the loader's own address, and a page may start workers from its own origin only.
    if (threads > 1 && isForeign(url)) own = await copyOfOwn(url, signal);
    const glue = (await importFile(own ?? url)) as { readonly default: WasmModuleFactory };
    return { factory: glue.default, started: forget };
  } catch (cause) {
    forget();
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
