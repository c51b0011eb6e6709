import { beforeAbort, throwIfAborted } from "../call/abort.js";
import { version } from "../engine/version.js";
import { AssetError } from "../errors/errors.js";
import { versionError } from "./assetErrors.js";
import { compiled } from "./compile.js";
import { addressOf, type EngineFiles } from "./engineFiles.js";
import { importFailure, type ReadOptions } from "./fetchAsset.js";
import type { CompiledModule, EngineParts, LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import type { WasmModuleFactory } from "./module.js";
import { checkedVariant } from "./moduleLabel.js";
import type { Variant } from "./variants.js";

/** Reads the bytes of a wasm file. */
export type ReadWasm = (url: string, options: ReadOptions) => Promise<Uint8Array<ArrayBuffer>>;

/** Loads an engine from files: the package's own, or files that the caller names. */
export async function loadFiles(files: EngineFiles, read: ReadWasm, options: LoadOptions): Promise<EngineParts> {
  const compiling = loadModule(files, read, options);
  // The caller's module may be another variant than the chosen one. It needs the loader of its own variant.
  const { module, binary, url } = options.source;
  const isGiven = [module, binary, url].some((source) => source !== undefined);
  const variant = isGiven ? compiling.then((compiled) => compiled.variant) : Promise.resolve(options.variant);
  const importing = variant.then((chosen) => importGlue(files, chosen, options));
  const glue = await Promise.race([importing, compiling.then(() => importing)]); // rejects with the first failure
  return { ...glue, compiling, isShared: true };
}

/** Loads a part of the package that is in a file of its own. */
export async function loadPart<P extends { readonly version: string }>(
  operation: string,
  files: EngineFiles,
  role: "gpu",
): Promise<P> {
  const url = addressOf(operation, files, role);
  let part: P;
  try {
    part = (await importFile(operation, url)) as P;
  } catch (cause) {
    throw await importFailure(operation, url, cause);
  }
  if (part.version !== version) throw versionError(url, String(part.version), operation);
  return part;
}

/** Imports a file at its address. The comments stop bundlers from bundling it: the file is an asset. */
function importFile(operation: string, url: string): Promise<unknown> {
  const importing = import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url);
  return inTime(operation, importing, `${url} was not loaded`, "Check the network and the address.");
}

async function importGlue(
  files: EngineFiles,
  variant: Variant,
  { operation, threads, signal }: LoadOptions,
): Promise<Pick<EngineParts, "factory" | "name" | "started">> {
  const name = addressOf(operation, files, `${variant}Glue`);
  let own: string | undefined;
  const started = () => own && URL.revokeObjectURL(own);
  try {
    // The loader starts threads from its own address, and a page may start workers only from its own origin.
    if (threads > 1 && isForeign(name)) own = await copyOfOwn(name, signal);
    const { default: factory } = (await importFile(operation, own ?? name)) as { readonly default: WasmModuleFactory };
    if (typeof factory !== "function") throw notALoader(operation, name);
    return { factory, name, started };
  } catch (cause) {
    started();
    throwIfAborted(signal);
    throw await importFailure(operation, name, cause, signal);
  }
}

/** The error for a bundler that changed the loader, because it took the loader for a module of the page. */
function notALoader(operation: string, name: string): AssetError {
  return new AssetError(`${operation}: ${name} is not the engine's loader: it has no function as its default export`, {
    code: "ASSET_INVALID",
    hint:
      "A bundler may have changed the file, as Parcel does. Copy the files of headwise/wasm/ as they are, and give their " +
      "folder as `wasm: { baseUrl }`.",
  });
}

function isForeign(url: string): boolean {
  const { origin } = globalThis as { readonly origin?: string };
  return origin !== undefined && /^https?:/.test(url) && new URL(url).origin !== origin;
}

async function copyOfOwn(url: string, signal: AbortSignal | undefined): Promise<string> {
  const response = await beforeAbort(fetch(url), signal);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type: "text/javascript" }));
}

/**
 * The compiled files of the package by their addresses. All instances of a page, worker or process share them: only the
 * first one loads and compiles, and V8 of Node 20 and 22 never frees all that a compilation takes. A file that a caller
 * names by `wasm.url` is not kept, because such an address may be used only once.
 */
const compiledFiles = new Map<string, { readonly module: WebAssembly.Module; readonly bytes: number }>();

async function loadModule(files: EngineFiles, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const { operation, source, variant } = options;
  if (source.module) return checked(options, source.module, "wasm.module");
  if (source.binary) return checked(options, await compiled(operation, source.binary, "wasm.binary"), "wasm.binary");
  const address = addressOf(operation, files, `${variant}Wasm`);
  return source.url === undefined
    ? loadSharedFile(address, read, options)
    : checked(options, await compiled(operation, await read(address, options), address), address);
}

async function loadSharedFile(address: string, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const known = compiledFiles.get(address);
  if (known) {
    options.onProgress?.({ phase: "download", loaded: known.bytes, total: known.bytes });
    return checked(options, known.module, address);
  }
  const bytes = await read(address, options);
  const result = checked(options, await compiled(options.operation, bytes, address), address);
  compiledFiles.set(address, { module: result.module, bytes: bytes.length });
  return result;
}

/** The module with its variant. Throws if it is no module of this package, or not the variant that was asked for. */
function checked({ operation, asked }: LoadOptions, module: WebAssembly.Module, name: string): CompiledModule {
  const variant = checkedVariant(operation, module, name, true);
  if (asked !== "auto" && asked !== variant)
    throw new AssetError(`${operation}: ${name} is the ${variant} variant, and variant "${asked}" was asked for`, {
      code: "ASSET_VERSION",
      hint: 'Give the file of the variant, or choose variant "auto".',
    });
  return { module, variant };
}
