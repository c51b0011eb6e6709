import { AssetError } from "../errors/errors.js";
import { compiled } from "./compile.js";
import { compiledFile, keepCompiledFile } from "./compiledFiles.js";
import { addressOf, type EngineFiles } from "./engineFiles.js";
import type { ReadOptions } from "./fetchAsset.js";
import type { CompiledModule, LoadOptions } from "./host.js";
import { shownAddress } from "./inlined.js";
import { checkedVariant } from "./moduleLabel.js";

/** Reads the bytes of a wasm file. */
export type ReadWasm = (url: string, options: ReadOptions) => Promise<Uint8Array<ArrayBuffer>>;

/**
 * The compiled module: the caller's, or that of a file. A file that a caller names by `wasm.url` is not kept for later
 * instances, because such an address may be used only once.
 */
export async function loadModule(files: EngineFiles, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const { operation, source, variant } = options;
  if (source.module) return checked(options, source.module, "wasm.module");
  if (source.binary) return checked(options, await compiled(operation, source.binary, "wasm.binary"), "wasm.binary");
  const address = addressOf(operation, files, `${variant}Wasm`);
  return source.url === undefined
    ? loadSharedFile(address, read, options)
    : compiledFrom(options, await read(address, options), address);
}

async function loadSharedFile(address: string, read: ReadWasm, options: LoadOptions): Promise<CompiledModule> {
  const known = compiledFile(address);
  if (known) {
    options.onProgress?.({ phase: "download", loaded: known.bytes, total: known.bytes });
    return checked(options, known.module, shownAddress(address));
  }
  const bytes = await read(address, options);
  const result = await compiledFrom(options, bytes, address);
  keepCompiledFile({ address, module: result.module, bytes: bytes.length });
  return result;
}

async function compiledFrom(
  options: LoadOptions,
  bytes: Uint8Array<ArrayBuffer>,
  address: string,
): Promise<CompiledModule> {
  const name = shownAddress(address);
  return checked(options, await compiled(options.operation, bytes, name), name);
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
