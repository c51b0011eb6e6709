import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { addressError } from "./assetErrors.js";
import type { CheckedSource } from "./host.js";
import type { Variant } from "./variants.js";

/**
 * The files that are loaded when they are needed: the module, its late part and the loader of each variant, the WebGPU
 * engine, the worker's script, and what a page's worker needs for `backend: "auto"`.
 */
type FileRole = `${Variant}${"Wasm" | "Late" | "Glue"}` | "gpu" | "auto" | "worker";

/**
 * The addresses of the files. A file without a known address is absent. It is plain data, which a page sends to its
 * worker.
 */
export type EngineFiles = Readonly<Partial<Record<FileRole, string>>>;

/** How a page or Node reads addresses. */
export interface Place {
  /**
   * The package's own files. Every address is a literal `new URL("…", import.meta.url)`, because bundlers find and copy
   * the files by it. It throws in a bundle without `import.meta.url`, so it must not be called on import.
   */
  readonly own: () => Required<Omit<EngineFiles, "auto">> & EngineFiles;
  /** The ending of the names of the loaders and of the worker's script. */
  readonly ending: "js" | "node.js";
  /** Makes a relative address absolute. Throws if it is not an address. */
  readonly absolute: (address: string) => string;
}

/** The addresses of the files, from the caller's options and the package's own place. */
export function engineFiles(operation: string, place: Place, source: CheckedSource): EngineFiles {
  const given = (name: "baseUrl" | "url" | "lateUrl" | "glueUrl") => {
    const address = source[name];
    return address === undefined ? undefined : absolute(operation, place, name, address);
  };
  const [baseUrl, url, lateUrl, glueUrl] = [given("baseUrl"), given("url"), given("lateUrl"), given("glueUrl")];
  return {
    ...(baseUrl && scriptsIn(baseUrl, place.ending)),
    ...ownFiles(place),
    ...(baseUrl && modulesIn(baseUrl, place.ending)),
    ...(url && { simdWasm: url, relaxedWasm: url, ...lateBeside(url) }),
    ...(lateUrl && { simdLate: lateUrl, relaxedLate: lateUrl }),
    ...(glueUrl && { simdGlue: glueUrl, relaxedGlue: glueUrl }),
  };
}

const DESCRIPTIONS: Readonly<Record<FileRole, string>> = {
  simdWasm: "headwise.simd.wasm",
  simdLate: "headwise.simd.late.wasm",
  simdGlue: "the loader of headwise.simd.wasm",
  relaxedWasm: "headwise.relaxed.wasm",
  relaxedLate: "headwise.relaxed.late.wasm",
  relaxedGlue: "the loader of headwise.relaxed.wasm",
  gpu: "webgpu-engine.js",
  auto: "auto-engine.js",
  worker: "the script of the engine's worker",
};

/** The address of one file. Throws if it is not known. */
export function addressOf(operation: string, files: EngineFiles, role: FileRole): string {
  const address = files[role];
  if (address === undefined) throw addressError(operation, DESCRIPTIONS[role]);
  return address;
}

function ownFiles({ own }: Place): EngineFiles {
  try {
    return own();
  } catch {
    return {};
  }
}

function modulesIn(folder: string, ending: Place["ending"]): EngineFiles {
  return {
    simdWasm: fileIn(folder, "headwise.simd.wasm"),
    simdLate: fileIn(folder, "headwise.simd.late.wasm"),
    simdGlue: fileIn(folder, `headwise.simd.${ending}`),
    relaxedWasm: fileIn(folder, "headwise.relaxed.wasm"),
    relaxedLate: fileIn(folder, "headwise.relaxed.late.wasm"),
    relaxedGlue: fileIn(folder, `headwise.relaxed.${ending}`),
  };
}

/** The late part of a module that has its own name at the caller's address. A query belongs to both. */
function lateBeside(url: string): EngineFiles {
  const address = new URL(url);
  const [, start, variant] = /^(.*\/headwise\.(simd|relaxed))\.wasm$/.exec(address.pathname) ?? [];
  if (variant === undefined) return {};
  address.pathname = `${start}.late.wasm`;
  return { [`${variant}Late`]: address.href };
}

function scriptsIn(folder: string, ending: Place["ending"]): EngineFiles {
  return {
    gpu: fileIn(folder, "webgpu-engine.js"),
    auto: fileIn(folder, "auto-engine.js"),
    worker: fileIn(folder, `worker-entry.${ending}`),
  };
}

/** A query of the folder belongs to its files. Throws if there are no addresses in the folder, as in `data:` and `blob:`. */
function fileIn(folder: string, name: string): string {
  const url = new URL(folder);
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  const file = new URL(name, url);
  file.search = url.search;
  return file.href;
}

function absolute(operation: string, place: Place, name: string, address: string): string {
  const isFolder = name === "baseUrl";
  try {
    const found = place.absolute(address);
    if (isFolder) fileIn(found, "file");
    return found;
  } catch (cause) {
    const rule = isFolder ? "the address of a folder" : "an address";
    throw new OptionError(`${operation}: wasm.${name} must be ${rule}, got ${describe(address)}`, { cause });
  }
}
