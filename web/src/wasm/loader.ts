import { AssetError, OutOfMemoryError } from "../errors.js";
import { beforeAbort } from "../queue.js";
import { version } from "../version.js";
import { versionError } from "./assetErrors.js";
import { WasmEngine } from "./engine.js";
import { INITIAL_MEMORY, PAGE_BYTES, type EngineParts, type Host, type LoadOptions } from "./host.js";
import { inTime } from "./inTime.js";
import type { FactoryOptions, WasmModule } from "./module.js";

/** Loads a variant and starts its threads. */
export async function loadEngine(
  host: Host,
  options: LoadOptions & { /** Bytes; the memory never grows beyond it. */ readonly maximumMemory: number },
): Promise<WasmEngine> {
  const { signal, threads, maximumMemory } = options;
  const parts = await host.load(options);
  try {
    signal?.throwIfAborted();
    const dispatched = threads > 1 && !mayBlock();
    const memory = createMemory(maximumMemory, parts.isShared);
    let crashed: (what: unknown) => void = () => undefined; // before there is an engine, `started` tells
    const onCrash = (what: unknown) => crashed(what);
    const instance = await started(parts, memory, dispatched ? threads + 1 : threads, onCrash, signal);
    checkVersion(instance, parts.name);
    const engine = new WasmEngine(instance, memory, threads, dispatched);
    crashed = (what) => engine.crashed(what);
    return engine;
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

function createMemory(maximumMemory: number, shared: boolean): WebAssembly.Memory {
  const maximum = Math.floor(maximumMemory / PAGE_BYTES);
  try {
    return new WebAssembly.Memory({ initial: INITIAL_MEMORY / PAGE_BYTES, maximum, shared });
  } catch (cause) {
    throw new OutOfMemoryError(`createAttention: no room for a memory of up to ${maximumMemory} bytes`, {
      cause,
      hint: "Choose a smaller `maximumMemory`: it is reserved at once.",
    });
  }
}

function instantiate(
  { factory, module }: EngineParts,
  memory: WebAssembly.Memory,
  numThreads: number,
  onCrash: (what: unknown) => void,
): Promise<WasmModule> {
  return new Promise((resolve, reject) => {
    const options: FactoryOptions = {
      wasmMemory: memory,
      numThreads,
      // Emscripten does not hear of failures here, so the promise is ours.
      instantiateWasm(imports, receive) {
        WebAssembly.instantiate(module, imports).then(
          (instance) => {
            receive(instance, module);
            if (numThreads > 1) options._warm_up?.(); // now that the workers start
          },
          (cause) => reject(instantiateError(cause)),
        );
        return {};
      },
      printErr: () => {}, // what it would print arrives as an error
      onAbort(what) {
        onCrash(what);
        reject(startError(what)); // without effect once it has started
      },
    };
    factory(options).then(resolve, (cause) => reject(startError(cause)));
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

const POLICY_HINT = "Check the page's worker-src policy, or set `threads: 1`.";

/** @param cause - Absent for a worker that the page's policy forbids: it fails without a word. */
function startError(cause: unknown = "a worker of it could not be loaded"): AssetError {
  return new AssetError(`createAttention: the engine did not start: ${String(cause)}`, {
    code: "ASSET_BLOCKED",
    cause,
    hint: POLICY_HINT,
  });
}

/** Waits for the engine's start; if that is given up, threads that start late are ended. */
async function started(
  parts: EngineParts,
  memory: WebAssembly.Memory,
  numThreads: number,
  onCrash: (what: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<WasmModule> {
  const starting = instantiate(parts, memory, numThreads, onCrash);
  try {
    // A worker that fails to load says nothing
    const failed = `the workers of ${parts.name} did not start`;
    return await inTime(signal ? beforeAbort(starting, signal) : starting, failed, POLICY_HINT);
  } catch (error) {
    starting.then(
      ({ PThread }) => PThread?.terminateAllThreads(),
      () => undefined,
    );
    throw error;
  }
}

function checkVersion(module: WasmModule, name: string): void {
  const found = module.version();
  if (found === version) return;
  module.PThread?.terminateAllThreads();
  throw versionError(name, found);
}
