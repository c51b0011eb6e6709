import { beforeAbort, throwIfAborted } from "../call/abort.js";
import { version } from "../engine/version.js";
import { AssetError, HeadwiseError, OutOfMemoryError } from "../errors/errors.js";
import { thrownText } from "../foreign/thrown.js";
import { versionError, workerHint } from "./assetErrors.js";
import { WasmCore } from "./core.js";
import { INITIAL_MEMORY, PAGE_BYTES, type EngineParts, type Host, type LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import type { FactoryOptions, WasmModule } from "./module.js";
import type { Variant } from "./variants.js";

/** Loads a variant and starts its threads. */
export async function loadEngine(
  host: Host,
  options: LoadOptions & { /** Most bytes that the memory may grow to. */ readonly maximumMemory: number },
): Promise<{ readonly core: WasmCore; readonly variant: Variant }> {
  const { operation, signal, threads, maximumMemory } = options;
  const parts = await host.load(options);
  try {
    throwIfAborted(signal);
    const dispatched = threads > 1 && !mayBlock();
    const memory = createMemory(operation, maximumMemory, parts.isShared);
    let crashed: (what: unknown) => void = () => undefined; // while the engine starts, `started` reports a crash
    const onCrash = (what: unknown) => crashed(what);
    const module = await started(options, parts, memory, dispatched ? threads + 1 : threads, onCrash);
    try {
      checkVersion(operation, module, parts.name);
      const core = new WasmCore(module, memory, threads, dispatched);
      crashed = (what) => core.crashed(what);
      return { core, variant: parts.variant };
    } catch (error) {
      endThreadsOf(module);
      throw HeadwiseError.is(error) ? error : startError(operation, error);
    }
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
 * Waits until the engine has started. If the start fails or is aborted, all its threads are ended, also those that
 * start later.
 */
async function started(
  { operation, signal }: LoadOptions,
  parts: EngineParts,
  memory: WebAssembly.Memory,
  numThreads: number,
  onCrash: (what: unknown) => void,
): Promise<WasmModule> {
  const { starting, endThreads } = start(operation, parts, memory, numThreads, onCrash);
  try {
    const unlessAborted = beforeAbort(starting, signal);
    // headwise/inline starts no worker. Cloudflare allows no timer while a module is imported.
    if (!parts.isShared) return await unlessAborted;
    // A worker that fails to load reports nothing, so the wait has a limit.
    const failed = `the workers of ${parts.name} did not start`;
    return await inTime(operation, unlessAborted, failed, POLICY_HINT);
  } catch (error) {
    endThreads();
    starting.then(endThreadsOf).catch(() => undefined);
    throw error;
  }
}

function start(
  operation: string,
  { factory, module }: EngineParts,
  memory: WebAssembly.Memory,
  numThreads: number,
  onCrash: (what: unknown) => void,
): { readonly starting: Promise<WasmModule>; readonly endThreads: () => void } {
  let fail!: (error: AssetError) => void;
  const failure = new Promise<never>((_, reject) => (fail = reject));
  const options: FactoryOptions = {
    wasmMemory: memory,
    numThreads,
    // Emscripten does not see failures in this function.
    instantiateWasm(imports, receive) {
      const instantiated = WebAssembly.instantiate(module, imports).then((instance) => {
        receive(instance, module);
        if (numThreads > 1) options._warm_up?.(); // at the same time as the workers start
      });
      instantiated.catch((cause: unknown) => fail(mismatchError(operation, cause)));
      return {};
    },
    printErr: () => {}, // the messages arrive as errors too
    onAbort(what) {
      onCrash(what);
      fail(startError(operation, what)); // has no effect after the start
    },
  };
  const making = (async () => factory(options))().catch((cause: unknown) => {
    throw startError(operation, cause);
  });
  return { starting: Promise.race([making, failure]), endThreads: () => endThreadsOf(options) };
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
