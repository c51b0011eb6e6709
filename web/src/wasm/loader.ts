import { AssetError, HeadwiseError, OutOfMemoryError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { version } from "../engine/version.js";
import { versionError, workerHint } from "../load/assetErrors.js";
import { INITIAL_MEMORY, PAGE_BYTES, type EngineParts, type Host, type LoadOptions } from "../load/host.js";
import { inTime } from "../load/inTime.js";
import type { Variant } from "../load/variants.js";
import { beforeAbort, throwIfAborted } from "../read/abort.js";
import { WasmCore } from "./core.js";
import type { FactoryOptions, WasmModule, WasmModuleFactory } from "./module.js";

/** Loads a variant and starts its threads. */
export async function loadEngine(
  host: Host,
  options: LoadOptions & { /** Most bytes that the memory may grow to. */ readonly maximumMemory: number },
): Promise<{ readonly core: WasmCore; readonly variant: Variant }> {
  const { operation, signal, maximumMemory } = options;
  const parts = await host.load(options);
  try {
    throwIfAborted(signal);
    const core = await started(options, parts, createMemory(operation, maximumMemory, parts.isShared));
    const { variant, build } = await parts.compiling;
    if (build !== undefined && parts.loadLatePart) core.splitWith(parts.loadLatePart);
    return { core, variant };
  } finally {
    parts.started?.();
  }
}

/** Whether this thread may block. The main thread of a window may not. */
function mayBlock(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

function createMemory(operation: string, maximumMemory: number, shared: boolean): WebAssembly.Memory {
  const maximum = Math.floor(maximumMemory / PAGE_BYTES);
  try {
    return new WebAssembly.Memory({ initial: INITIAL_MEMORY / PAGE_BYTES, maximum, shared });
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: no room for a memory of up to ${maximumMemory} bytes`, {
      cause,
      hint: "Choose a smaller `maximumMemory`: it is reserved at once.",
    });
  }
}

/**
 * Waits until the engine and its threads have started. If the start fails or is aborted, all its threads are ended, also
 * those that start later.
 */
async function started(
  { operation, signal, threads }: LoadOptions,
  parts: EngineParts,
  memory: WebAssembly.Memory,
): Promise<WasmCore> {
  const dispatched = threads > 1 && !mayBlock();
  const start = new Start(operation, parts, memory, dispatched ? threads + 1 : threads);
  const unlessFailed = <T>(promise: Promise<T>) => beforeAbort(Promise.race([promise, start.failure]), signal);
  const inTimeUnlessFailed = <T>(promise: Promise<T>) => {
    const awaited = unlessFailed(promise);
    // headwise/inline starts no worker. Cloudflare allows no timer while a module is imported.
    if (!parts.isShared) return awaited;
    // A worker that fails to load reports nothing, so the wait has a limit.
    return inTime(operation, awaited, `the workers of ${parts.name} did not start`, POLICY_HINT);
  };
  try {
    await unlessFailed(parts.compiling); // loading has time limits of its own
    const module = await inTimeUnlessFailed(start.module);
    checkVersion(operation, module, parts.name);
    const core = start.coreOf(module, threads, dispatched);
    await inTimeUnlessFailed(Promise.resolve(module.pthreadPoolReady));
    return core;
  } catch (error) {
    start.endThreads();
    throw error;
  }
}

/** A module whose threads are starting. They start while the module is still being loaded and compiled. */
class Start {
  /** The module, as soon as it can be called. Its threads may still be starting. */
  readonly module: Promise<WasmModule>;
  /** Rejects if the start fails. */
  readonly failure: Promise<never>;
  readonly #operation: string;
  readonly #memory: WebAssembly.Memory;
  readonly #options: FactoryOptions;
  #fail!: (error: unknown) => void;
  #core: WasmCore | undefined;

  constructor(operation: string, { factory, compiling }: EngineParts, memory: WebAssembly.Memory, numThreads: number) {
    this.#operation = operation;
    this.#memory = memory;
    this.failure = new Promise<never>((_, reject) => (this.#fail = reject));
    const options: FactoryOptions = {
      wasmMemory: memory,
      numThreads,
      instantiateWasm: (imports, receive) => {
        // started() reports why a module was not compiled
        compiling.then(({ module }) => this.#instantiate(module, imports, receive)).catch(() => undefined);
        return {};
      },
      printErr: () => {}, // the messages arrive as errors too
      onAbort: (what) => {
        this.#core?.crashed(what);
        this.#fail(startError(operation, what)); // has no effect after the start
      },
    };
    this.#options = options;
    this.module = (async () => (factory as WasmModuleFactory)(options))().catch((cause: unknown) => {
      throw startError(operation, cause);
    });
    this.module.catch(this.#fail);
  }

  /** Emscripten does not see failures in this method. */
  async #instantiate(
    module: WebAssembly.Module,
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): Promise<void> {
    try {
      receive(await WebAssembly.instantiate(module, imports), module);
      if (this.#options.numThreads > 1) this.#options._warm_up?.(); // at the same time as the workers start
    } catch (cause) {
      this.#fail(mismatchError(this.#operation, cause));
    }
  }

  /** Makes the core, which gives the workers their threads. They run when they have started. */
  coreOf(module: WasmModule, threads: number, dispatched: boolean): WasmCore {
    try {
      this.#core = new WasmCore(module, this.#memory, threads, dispatched);
      if (dispatched) hearTerminate(module, this.#core);
      return this.#core;
    } catch (error) {
      throw HeadwiseError.is(error) ? error : startError(this.#operation, error);
    }
  }

  endThreads(): void {
    endThreadsOf(this.#options);
    this.module.then(endThreadsOf).catch(() => undefined);
  }
}

/**
 * A browser sends no event when a worker is terminated. A call would never get the result of that thread, so `terminate`
 * itself ends the core. Without a dispatcher the caller's own thread computes, and gets no events during a call.
 */
function hearTerminate({ PThread }: WasmModule, core: WasmCore): void {
  for (const worker of PThread?.runningWorkers ?? []) {
    worker.terminate = () => {
      Worker.prototype.terminate.call(worker);
      core.crashed("a thread of its pool was terminated"); // has no effect if the core has ended its threads itself
    };
  }
}

/** @param module - What the loader has made so far; undefined if nothing. */
function endThreadsOf(module: Pick<WasmModule, "PThread"> | undefined): void {
  module?.PThread?.terminateAllThreads();
}

/** The error if the module and the loader do not fit together: the imports or exports differ. */
function mismatchError(operation: string, cause: unknown): AssetError {
  const text = thrownText(cause);
  return new AssetError(`${operation}: the loader and the .wasm file do not belong together: ${text}`, {
    code: "ASSET_VERSION",
    cause,
    hint: "Serve both from the same version of headwise, and of the same variant.",
  });
}

const POLICY_HINT = "Check the page's worker-src policy, or set `threads: 1`.";

/** @param cause - Absent if the page's policy forbids the worker: such a worker reports nothing. */
function startError(operation: string, cause: unknown = "a worker of it could not be loaded"): AssetError {
  return new AssetError(`${operation}: the engine did not start: ${thrownText(cause)}`, {
    code: "ASSET_BLOCKED",
    cause,
    hint: workerHint(cause, POLICY_HINT),
  });
}

function checkVersion(operation: string, module: WasmModule | undefined, name: string): asserts module is WasmModule {
  const found = typeof module?.version === "function" ? module.version() : "unknown";
  if (found !== version) throw versionError(name, found, operation);
}
