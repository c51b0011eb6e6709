import type { GpuModule } from "../engine/gpuModule.js";
import type { WasmModuleFactory } from "./module.js";
import type { Variant } from "./variants.js";

export const PAGE_BYTES = 65536;

/** What the module starts with: it is linked for this size. */
export const INITIAL_MEMORY = 16 * 2 ** 20;

/** Memory that the engine must have for each thread: 256 KiB are its stack, the rest is for what it computes. */
export const MEMORY_PER_THREAD = 512 * 2 ** 10;

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
  /**
   * Address of a folder that has the files of `headwise/wasm/`; of them the variant's are taken. In a bundle that is no
   * ES module, `worker-entry.js` (in Node `worker-entry.node.js`) and `webgpu-engine.js` are looked for there too.
   * Addresses may be relative to the page; in Node they may be paths.
   */
  readonly baseUrl?: string | URL;
  /** Address of the `.wasm` file. */
  readonly url?: string | URL;
  /** Address of the loader, `headwise.<variant>.js` (in Node `.node.js`). */
  readonly glueUrl?: string | URL;
  /** The bytes of the `.wasm` file. */
  readonly binary?: ArrayBuffer | Uint8Array;
  /** The compiled module. */
  readonly module?: WebAssembly.Module;
}

/** A source whose addresses are text, and whose bytes are ours. */
export interface CheckedSource {
  readonly baseUrl?: string;
  readonly url?: string;
  readonly glueUrl?: string;
  readonly binary?: Uint8Array<ArrayBuffer>;
  readonly module?: WebAssembly.Module;
}

export interface LoadOptions {
  /** The public function that loads, first word of every message. */
  readonly operation: string;
  /** The best that runs here, or the one that was asked for. */
  readonly variant: Variant;
  readonly asked: Variant | "auto";
  readonly threads: number;
  readonly source: CheckedSource;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: LoadProgress) => void) | undefined;
}

/** An engine that is there and waits to be started. */
export interface EngineParts {
  /** Emscripten's loader. */
  readonly factory: WasmModuleFactory;
  readonly module: WebAssembly.Module;
  /** The variant that the module is. */
  readonly variant: Variant;
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
