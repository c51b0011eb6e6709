import { AssetError, OutOfMemoryError } from "../errors.js";
import { beforeAbort } from "../queue.js";
import { version } from "../version.js";
import { WasmEngine } from "./engine.js";
import { assetHint, importFailure } from "./fetchAsset.js";
import type { Host, LoadProgress } from "./host.js";
import type { WasmModule, WasmModuleFactory } from "./module.js";
import type { Variant } from "./variants.js";

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
  /** Bytes; the memory never grows beyond it. */
  readonly maximumMemory: number;
  readonly source: WasmSource;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: LoadProgress) => void) | undefined;
}

export const PAGE_BYTES = 65536;
/** What the module starts with: it is linked for this size. */
export const INITIAL_MEMORY = 16 * 2 ** 20;
/** A worker that has not started by then never will. */
const START_TIMEOUT_MILLISECONDS = 30_000;

/** Loads a variant and starts its threads. */
export async function loadEngine(host: Host, options: LoadOptions): Promise<WasmEngine> {
  const { signal, threads } = options;
  const assets = host.assets(options.variant);
  const glueUrl = options.source.glueUrl ?? assets.glueUrl;
  const [factory, module] = await Promise.all([
    importGlue(glueUrl, signal),
    compiledModule(host, options.source, options.source.url ?? assets.wasmUrl, options),
  ]);
  signal?.throwIfAborted();
  const dispatched = threads > 1 && !mayBlock();
  const memory = createMemory(options.maximumMemory);
  const starting = instantiate(factory, module, memory, dispatched ? threads + 1 : threads);
  const instance = await started(starting, glueUrl, signal);
  checkVersion(instance, glueUrl);
  return new WasmEngine(instance, memory, threads, dispatched);
}

/** Whether this thread may wait for others; the main thread of a window may not. */
export function mayBlock(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

async function importGlue(url: string, signal: AbortSignal | undefined): Promise<WasmModuleFactory> {
  try {
    const glue = (await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ url)) as {
      default: WasmModuleFactory;
    };
    return glue.default;
  } catch (cause) {
    throw await importFailure(url, cause, signal);
  }
}

async function compiledModule(
  host: Host,
  source: WasmSource,
  url: string,
  { signal, onProgress }: LoadOptions,
): Promise<WebAssembly.Module> {
  if (source.module) return source.module;
  const bytes = source.binary ?? (await host.read(url, { signal, onProgress }));
  try {
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (cause) {
    throw compileError(source.binary ? "wasm.binary" : url, cause);
  }
}

function compileError(what: string, cause: unknown): AssetError {
  const text = String(cause);
  if (/unsafe-eval|content security policy/i.test(text))
    return new AssetError(`createAttention: the page's content security policy forbids WebAssembly: ${text}`, {
      code: "ASSET_BLOCKED",
      cause,
      hint: "Allow it with script-src 'self' 'wasm-unsafe-eval'; 'unsafe-eval' is not needed.",
    });
  return new AssetError(`createAttention: ${what} is not a module that this engine compiles: ${text}`, {
    code: "ASSET_INVALID",
    cause,
    hint: assetHint(what),
  });
}

function createMemory(maximumMemory: number): WebAssembly.Memory {
  const maximum = Math.floor(maximumMemory / PAGE_BYTES);
  try {
    return new WebAssembly.Memory({ initial: INITIAL_MEMORY / PAGE_BYTES, maximum, shared: true });
  } catch (cause) {
    throw new OutOfMemoryError(`createAttention: no room for a memory of up to ${maximumMemory} bytes`, {
      cause,
      hint: "Choose a smaller `maximumMemory`; the address space is reserved at once.",
    });
  }
}

function instantiate(
  factory: WasmModuleFactory,
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  numThreads: number,
): Promise<WasmModule> {
  return new Promise((resolve, reject) => {
    factory({
      wasmMemory: memory,
      numThreads,
      // Emscripten does not hear of failures here, so the promise is ours.
      instantiateWasm(imports, receive) {
        WebAssembly.instantiate(module, imports).then(
          (instance) => receive(instance, module),
          (cause) => reject(instantiateError(cause)),
        );
        return {};
      },
      printErr: () => {}, // what it would print arrives as an error
    }).then(resolve, (cause) => reject(startError(cause)));
  });
}

/** What the module imports is what its own loader provides. */
function instantiateError(cause: unknown): AssetError {
  return new AssetError(`createAttention: the loader and the .wasm file do not belong together: ${String(cause)}`, {
    code: "ASSET_VERSION",
    cause,
    hint: "Serve both from the same version of headwise, and of the same variant.",
  });
}

function startError(cause: unknown): AssetError {
  return new AssetError(`createAttention: the engine did not start: ${String(cause)}`, {
    code: "ASSET_BLOCKED",
    cause,
    hint: "Where workers are forbidden, set `threads: 1`.",
  });
}

/** Waits for the engine's start; if that is given up, threads that start late are ended. */
async function started(
  starting: Promise<WasmModule>,
  glueUrl: string,
  signal: AbortSignal | undefined,
): Promise<WasmModule> {
  try {
    return await inTime(signal ? beforeAbort(starting, signal) : starting, glueUrl);
  } catch (error) {
    starting.then(
      ({ PThread }) => PThread.terminateAllThreads(),
      () => undefined,
    );
    throw error;
  }
}

/** A worker that fails to load says nothing, so silence has to end somewhere. */
async function inTime<T>(starting: Promise<T>, glueUrl: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const seconds = START_TIMEOUT_MILLISECONDS / 1000;
      reject(
        new AssetError(`createAttention: the workers of ${glueUrl} did not start within ${seconds} s`, {
          code: "ASSET_TIMEOUT",
          hint: "Check the page's worker-src policy, or set `threads: 1`.",
        }),
      );
    }, START_TIMEOUT_MILLISECONDS);
  });
  try {
    return await Promise.race([starting, late]);
  } finally {
    clearTimeout(timer);
  }
}

function checkVersion(module: WasmModule, glueUrl: string): void {
  const found = module.version();
  if (found === version) return;
  module.PThread.terminateAllThreads();
  throw new AssetError(`createAttention: ${glueUrl} is of version ${found}, this is ${version}`, {
    code: "ASSET_VERSION",
    hint: "Serve the files of headwise/wasm/ of the version that is imported; an old copy may be cached.",
  });
}
