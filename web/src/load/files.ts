import { AssetError } from "../base/errors.js";
import { version } from "../engine/version.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import { versionError } from "./assetErrors.js";
import { addressOf, type EngineFiles } from "./engineFiles.js";
import { importFailure } from "./fetchAsset.js";
import type { EngineParts, LoaderExport, LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import { shownAddress } from "./inlined.js";
import { loadLatePart, loadModule, type ReadWasm } from "./moduleFile.js";
import { PolicyWatch } from "./policyWatch.js";
import type { Variant } from "./variants.js";

/** Loads an engine from files: the package's own, or files that the caller names. */
export async function loadFiles(files: EngineFiles, read: ReadWasm, options: LoadOptions): Promise<EngineParts> {
  const compiling = loadModule(files, read, options);
  // The caller's module may be another variant than the chosen one. It needs the loader of its own variant.
  const { module, binary, url } = options.source;
  const isGiven = [module, binary, url].some((source) => source !== undefined);
  const variant = isGiven ? compiling.then((compiled) => compiled.variant) : Promise.resolve(options.variant);
  const importing = variant.then((chosen) => importGlue(files, chosen, options));
  compiling.catch(async () => (await importing).started()).catch(() => undefined); // no threads start without a module
  const glue = await Promise.race([importing, compiling.then(() => importing)]); // rejects with the first failure
  return {
    ...glue,
    compiling,
    loadLatePart: async (operation, signal) => loadLatePart(files, read, await compiling, options, operation, signal),
    isShared: true,
  };
}

const CHECK = "Check the network and the address.";

/** Loads a part of the package that is in a file of its own. */
export async function loadPart<P extends { readonly version: string }>(
  operation: string,
  files: EngineFiles,
  role: "gpu" | "auto",
): Promise<P> {
  const url = addressOf(operation, files, role);
  const part = (await importFile(operation, url)) as P;
  if (part.version === undefined) throw changedFile(operation, shownAddress(url));
  if (part.version !== version) throw versionError(shownAddress(url), String(part.version), operation);
  return part;
}

/**
 * Imports a file at its address. The comments stop bundlers from bundling it: the file is an asset.
 *
 * @param copy - The address of a copy of the file, if that is imported instead.
 */
async function importFile(operation: string, url: string, copy = url, signal?: AbortSignal): Promise<unknown> {
  const policy = new PolicyWatch();
  try {
    const importing = import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ copy);
    return await beforeAbort(inTime(operation, importing, `${shownAddress(url)} was not loaded`, CHECK), signal);
  } catch (cause) {
    throwIfAborted(signal);
    throw await importFailure(operation, url, cause, () => policy.violationBy(copy), signal);
  } finally {
    policy.end();
  }
}

async function importGlue(
  files: EngineFiles,
  variant: Variant,
  { operation, threads, signal }: LoadOptions,
): Promise<Required<Pick<EngineParts, "factory" | "name" | "started">>> {
  const url = addressOf(operation, files, `${variant}Glue`);
  const name = shownAddress(url);
  let own: string | undefined;
  const started = () => {
    if (own !== undefined) URL.revokeObjectURL(own);
  };
  try {
    // The loader starts threads from its own address, and a page may start workers only from its own origin.
    if (threads > 1 && isForeign(url)) own = await copyOfOwn(operation, url, signal);
    const { default: factory } = (await importFile(operation, url, own, signal)) as { readonly default: LoaderExport };
    if (typeof factory !== "function") throw notALoader(operation, name);
    return { factory, name, started };
  } catch (cause) {
    started();
    throw cause;
  }
}

/** The error for a bundler that changed a part of the package, because it took the part for a module of the page. */
function changedFile(operation: string, name: string): AssetError {
  return new AssetError(`${operation}: ${name} is not a file of headwise: it does not export its version`, {
    code: "ASSET_INVALID",
    hint:
      'A bundler may have changed the file, as Parcel does. Compute without it by `backend: "wasm"`, or import ' +
      "headwise/inline.",
  });
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

async function copyOfOwn(operation: string, url: string, signal: AbortSignal | undefined): Promise<string> {
  const inTimeUnlessAborted = <T>(coming: Promise<T>) =>
    beforeAbort(inTime(operation, coming, `${url} was not loaded`, CHECK), signal);
  try {
    const response = await inTimeUnlessAborted(fetch(url));
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return URL.createObjectURL(
      new Blob([await inTimeUnlessAborted(response.arrayBuffer())], { type: "text/javascript" }),
    );
  } catch (cause) {
    throwIfAborted(signal);
    throw await importFailure(operation, url, cause, () => undefined, signal);
  }
}
