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
  options: LoadOptions & { /** Bytes; the memory never grows beyond it. */ readonly maximumMemory: number },
): Promise<{ readonly core: WasmCore; readonly variant: Variant }> {
  const { operation, signal, threads, maximumMemory } = options;
  const parts = await host.load(options);
  try {
    throwIfAborted(signal);
    const dispatched = threads > 1 && !mayBlock();
    const memory = createMemory(operation, maximumMemory, parts.isShared);
    let crashed: (what: unknown) => void = () => undefined; // before there is an engine, `started` tells
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

/** Whether this thread may wait for others; the main thread of a window may not. */
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

/** Waits for the engine's start; if that fails or is given up, its threads are ended, also those that start late. */
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
    // headwise/inline starts no worker, and Cloudflare allows no timer in the scope that its modules have on import.
    if (!parts.isShared) return await unlessAborted;
    // A worker that fails to load says nothing
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
    // Emscripten does not hear of failures here.
    instantiateWasm(imports, receive) {
      const instantiated = WebAssembly.instantiate(module, imports).then((instance) => {
        receive(instance, module);
        if (numThreads > 1) options._warm_up?.(); // now that the workers start
      });
      instantiated.catch((cause: unknown) => fail(mismatchError(operation, cause)));
      return {};
    },
    printErr: () => {}, // what it would print arrives as an error
    onAbort(what) {
      onCrash(what);
      fail(startError(operation, what)); // without effect once it has started
    },
  };
  const making = (async () => factory(options))().catch((cause: unknown) => {
    throw startError(operation, cause);
  });
  return { starting: Promise.race([making, failure]), endThreads: () => endThreadsOf(options) };
}

/** @param module - What the loader has made, if it has made anything. */
function endThreadsOf(module: Pick<WasmModule, "PThread"> | undefined): void {
  module?.PThread?.terminateAllThreads();
}

/** The module imports what its own loader provides, and exports what that expects. */
function mismatchError(operation: string, cause: unknown): AssetError {
  const text = thrownText(cause);
  return new AssetError(`${operation}: the loader and the .wasm file do not belong together: ${text}`, {
    code: "ASSET_VERSION",
    cause,
    hint: "Serve both from the same version of headwise, and of the same variant.",
  });
}

const POLICY_HINT = "Check the page's worker-src policy, or set `threads: 1`.";

/** @param cause - Absent for a worker that the page's policy forbids: it fails without a word. */
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
