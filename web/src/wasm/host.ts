import type * as webgpuEngine from "../webgpuEngine.js";
import type { WasmModuleFactory } from "./module.js";
import type { Variant } from "./variants.js";

/** The WebGPU engine, which entries with another engine beside it load only when it is wanted. */
export type GpuModule = typeof webgpuEngine;

export const PAGE_BYTES = 65536;
/** What the module starts with: it is linked for this size. */
export const INITIAL_MEMORY = 16 * 2 ** 20;

/** More threads than this rarely help attention, and each costs a worker. */
export const MOST_THREADS_BY_DEFAULT = 8;

/** How many bytes of the engine's file have arrived; `total` is 0 when the server does not say. */
export interface LoadProgress {
  readonly phase: "download";
  readonly loaded: number;
  readonly total: number;
}

/** The caller's own copies of the engine's files, each in place of the package's. */
export interface WasmSource {
  /** Address of the `.wasm` file. */
  readonly url?: string;
  /** Address of the loader, `headwise.<variant>.js` (in Node `.node.js`). */
  readonly glueUrl?: string;
  /** The bytes of the `.wasm` file. */
  readonly binary?: ArrayBuffer | Uint8Array;
  /** The compiled module. */
  readonly module?: WebAssembly.Module;
}

export interface LoadOptions {
  readonly variant: Variant;
  readonly threads: number;
  readonly source: WasmSource;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: LoadProgress) => void) | undefined;
}

/** An engine that is there and waits to be started. */
export interface EngineParts {
  /** Emscripten's loader. */
  readonly factory: WasmModuleFactory;
  readonly module: WebAssembly.Module;
  /** What messages call the loader. */
  readonly name: string;
  /** Whether the module's memory is shared: it is unless the module has one thread only. */
  readonly isShared: boolean;
  /** Called once the engine's threads have started, or will not. */
  readonly started?: () => void;
}

/** What differs between Node, a browser, and a package that is one file. */
export interface Host {
  /** The modules that there are. */
  readonly variants: readonly Variant[];
  /** The most threads that can run here, and why not more; and how many are a good choice. */
  threads(): { readonly most: number; readonly good: number; readonly reason?: string };
  load(options: LoadOptions): Promise<EngineParts>;
  /** The WebGPU engine, for hosts that have it. */
  loadGpu?(operation: string): Promise<GpuModule>;
}
