import { AssetError } from "../base/errors.js";
import { compiled } from "./compile.js";
import { compiledFile, keepCompiledFile } from "./compiledFiles.js";
import { addressOf, type EngineFiles } from "./engineFiles.js";
import type { ReadFile, ReadOptions } from "./fetchAsset.js";
import type { CompiledModule, LoadOptions } from "./host.js";
import { shownAddress } from "./inlined.js";
import { checkedLabel, checkLatePart, isLatePartOf } from "./moduleLabel.js";

/** Reads a wasm file. */
export type ReadWasm = (url: string, options: ReadOptions) => Promise<ReadFile>;

/**
 * The compiled module: the caller's, or that of a file. A file that a caller names by `wasm.url` is not kept for later
 * instances, because such an address may be used only once.
 */
export async function loadModule(files: EngineFiles, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const { operation, source, variant } = options;
  if (source.module) return checked(options, source.module, "wasm.module");
  if (source.binary)
    return checked(options, await compiled(operation, { bytes: source.binary }, "wasm.binary"), "wasm.binary");
  const address = addressOf(operation, files, `${variant}Wasm`);
  return source.url === undefined
    ? loadSharedFile(address, read, options)
    : compiledFrom(options, await read(address, options), address);
}

/** The late part of a module: the caller's, or that of a file. */
export async function loadLatePart(
  files: EngineFiles,
  read: ReadWasm,
  loaded: CompiledModule,
  { source }: LoadOptions,
  operation: string,
  signal: AbortSignal,
): Promise<WebAssembly.Module> {
  const { lateModule, lateBinary, lateUrl } = source;
  const checked = (late: WebAssembly.Module, name: string) => {
    checkLatePart(operation, late, name, loaded);
    return late;
  };
  if (lateModule) return checked(lateModule, "wasm.lateModule");
  if (lateBinary)
    return checked(await compiled(operation, { bytes: lateBinary }, "wasm.lateBinary"), "wasm.lateBinary");
  const address = addressOf(operation, files, `${loaded.variant}Late`);
  const name = shownAddress(address);
  const known = compiledFile(address)?.module;
  if (known && isLatePartOf(known, loaded)) return known;
  const file = await read(address, { operation, signal, onProgress: undefined });
  const late = checked(await compiled(operation, file, name), name);
  if (lateUrl === undefined) keepCompiledFile({ address, module: late, bytes: file.bytes.length });
  return late;
}

async function loadSharedFile(address: string, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const known = compiledFile(address);
  if (known) {
    options.onProgress?.({ phase: "download", loaded: known.bytes, total: known.bytes });
    return checked(options, known.module, shownAddress(address));
  }
  const file = await read(address, options);
  const result = await compiledFrom(options, file, address);
  keepCompiledFile({ address, module: result.module, bytes: file.bytes.length });
  return result;
}

async function compiledFrom(options: LoadOptions, file: ReadFile, address: string): Promise<CompiledModule> {
  const name = shownAddress(address);
  return checked(options, await compiled(options.operation, file, name), name);
}

/** The module with its variant. Throws if it is no module of this package, or not the variant that was asked for. */
function checked({ operation, asked }: LoadOptions, module: WebAssembly.Module, name: string): CompiledModule {
  const label = checkedLabel(operation, module, name, true);
  const { variant } = label;
  if (asked !== "auto" && asked !== variant)
    throw new AssetError(`${operation}: ${name} is the ${variant} variant, and variant "${asked}" was asked for`, {
      code: "ASSET_VERSION",
      hint: 'Give the file of the variant, or choose variant "auto".',
    });
  return { module, ...label };
}
