import type { EngineFiles } from "./engineFiles.js";

/** A `.wasm` file of the package, compiled. */
export interface CompiledFile {
  readonly address: string;
  readonly module: WebAssembly.Module;
  /** The size of the file. */
  readonly bytes: number;
}

/**
 * The compiled files by their addresses. In a page or process, all instances of one entry of the package share
 * them, also in workers. Only the first one loads and compiles: V8 of Node 20 and 22 never frees all that a compilation takes.
 */
const files = new Map<string, CompiledFile>();

export const compiledFile = (address: string): CompiledFile | undefined => files.get(address);

export const keepCompiledFile = (file: CompiledFile): void => void files.set(file.address, file);

/** Those of the engine's files that are compiled. */
export const compiledFilesOf = ({
  simdWasm,
  simdLate,
  relaxedWasm,
  relaxedLate,
}: EngineFiles): readonly CompiledFile[] =>
  [simdWasm, simdLate, relaxedWasm, relaxedLate].flatMap((address) =>
    address === undefined ? [] : (files.get(address) ?? []),
  );
