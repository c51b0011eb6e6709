import type { GpuModule } from "../engine/gpuModule.js";
import type { Variant } from "./variants.js";

export const PAGE_BYTES = 65536;

/** The size of the memory at the start, for which the module is linked. */
export const INITIAL_MEMORY = 16 * 2 ** 20;

/** Memory that the engine needs for each thread: 256 KiB for its stack, the rest for the computation. */
export const MEMORY_PER_THREAD = 512 * 2 ** 10;

/** More threads rarely make attention faster, and each thread needs a worker. */
export const MOST_THREADS_BY_DEFAULT = 8;

/**
 * The progress of loading the engine's `.wasm` file. `loaded` and `total` are bytes; `total` is 0 if it is not known: if the
 * server does not say it, compresses the file, or is that of another origin. An instance whose file an earlier one has loaded
 * hears once that all bytes are there.
 */
export interface LoadProgress {
  readonly phase: "download";
  readonly loaded: number;
  readonly total: number;
}

/** Your own copies of the engine's files. Each replaces the package's file. */
export interface WasmSource {
  /**
   * Address of a folder with the files of `headwise/wasm/`; the files of the chosen variant are loaded from it. In a
   * bundle that is not an ES module, other files are loaded from it too: `webgpu-engine.js`, and the worker's script,
   * `worker-entry.js` with `auto-engine.js`, in Node `worker-entry.node.js`. The address may be relative to the page; in
   * Node it may be a path.
   */
  readonly baseUrl?: string | URL | undefined;
  /** Address of the `.wasm` file. */
  readonly url?: string | URL | undefined;
  /** Address of the loader, `headwise.<variant>.js` (in Node `headwise.<variant>.node.js`). */
  readonly glueUrl?: string | URL | undefined;
  /** The bytes of the `.wasm` file. */
  readonly binary?: ArrayBuffer | Uint8Array | undefined;
  /** The compiled module, a WebAssembly.Module. Projects for Node without the DOM's types do not know that name. */
  readonly module?: object | undefined;
  /**
   * Address of the late part of the module, `headwise.<variant>.late.wasm`, of the same build as the module. The first call
   * that needs it loads it.
   */
  readonly lateUrl?: string | URL | undefined;
  /** The bytes of the late part. */
  readonly lateBinary?: ArrayBuffer | Uint8Array | undefined;
  /** The compiled late part, a WebAssembly.Module. */
  readonly lateModule?: object | undefined;
}

/** A WasmSource after checking: addresses are strings, bytes are our own copy. */
export interface CheckedSource {
  readonly baseUrl?: string;
  readonly url?: string;
  readonly glueUrl?: string;
  readonly binary?: Uint8Array<ArrayBuffer>;
  readonly module?: WebAssembly.Module;
  readonly lateUrl?: string;
  readonly lateBinary?: Uint8Array<ArrayBuffer>;
  readonly lateModule?: WebAssembly.Module;
}

export interface LoadOptions {
  /** The public function that loads. It is the first word of every message. */
  readonly operation: string;
  /** The best variant that runs here, or the variant that the caller asked for. */
  readonly variant: Variant;
  readonly asked: Variant | "auto";
  readonly threads: number;
  readonly source: CheckedSource;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: LoadProgress) => void) | undefined;
}

/** A compiled module of this package. */
export interface CompiledModule {
  readonly module: WebAssembly.Module;
  readonly variant: Variant;
  /** The build of a module that is split: its late part is in another file. undefined if the module is whole. */
  readonly build: string | undefined;
}

/** What Emscripten's loader exports: a function that starts a module. `WasmModuleFactory` says what it takes and gives. */
export type LoaderExport = (options: never) => Promise<object>;

/** Loads and compiles the late part of a module. */
export type LoadLatePart = (operation: string, signal: AbortSignal) => Promise<WebAssembly.Module>;

/** An engine that is not started yet. */
export interface EngineParts {
  readonly factory: LoaderExport;
  /** The module, which may still be loading: threads can start meanwhile. */
  readonly compiling: Promise<CompiledModule>;
  /** Loads the late part of the module, if it is split. Absent if the host has whole modules only. */
  readonly loadLatePart?: LoadLatePart;
  /** The name of the loader in messages. */
  readonly name: string;
  /** Whether the module's memory is shared. Only the memory of a module with one thread is not. */
  readonly isShared: boolean;
  /** Called when the engine's threads have started, or when the start has failed. */
  readonly started?: () => void;
}

/** What differs between Node, a browser and headwise/inline. */
export interface Host {
  /** The variants that this host has. */
  readonly variants: readonly Variant[];
  /** `most`: the most threads that can run here, and the `reason` why not more. `good`: the number for `"auto"`. */
  threads(): { readonly most: number; readonly good: number; readonly reason?: string };
  load(options: LoadOptions): Promise<EngineParts>;
  /** Loads the WebGPU engine. Absent if the host has none. */
  loadGpu?(operation: string): Promise<GpuModule>;
}
