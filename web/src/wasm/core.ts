import type { Eventually } from "../call/context.js";
import {
  EmptyRowError,
  HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
  type ErrorDetails,
} from "../errors/errors.js";
import { Heap, MEMORY_HINT, type Arena } from "./heap.js";
import type { CallStructs, NativeCore, WasmModule } from "./module.js";

/** `StatusCode` of headwise/status.h, those with rows apart. */
const EMPTY_ROW = 4;
const ERRORS: Readonly<Record<number, readonly [typeof HeadwiseError, ErrorDetails?]>> = {
  1: [ShapeError],
  2: [OptionError],
  3: [UnsupportedError],
  5: [OutOfMemoryError, { hint: MEMORY_HINT }],
  6: [OptionError, { code: "CORRUPT_DATA" }],
};

/** A wait is looked at this often, should the engine have no Atomics.waitAsync. */
const POLL_MILLISECONDS = 1;

/** One instance of the module: its memory, and calls that run one at a time (a queue in front of it sees to that). */
export class WasmCore {
  readonly module: WasmModule;
  readonly heap: Heap;
  readonly native: NativeCore;
  readonly #structs: CallStructs;
  /** The operation of the latest call. */
  #latest = "its start";
  /** Makes the error of every call from now on, once no call can run any more. */
  #end: ((operation: string) => HeadwiseError) | undefined;

  /** @param dispatched - Calls must not block this thread: C++ runs them on a thread of its own. */
  constructor(module: WasmModule, memory: WebAssembly.Memory, threads: number, dispatched: boolean) {
    this.module = module;
    this.heap = new Heap(memory, module);
    this.native = new module.Engine(threads, dispatched);
    // Made now: a call that finds the memory full could not make its struct, and would end the engine.
    this.#structs = {
      AttentionCall: Object.seal(new module.AttentionCall()),
      MergeCall: Object.seal(new module.MergeCall()),
      RotaryCall: Object.seal(new module.RotaryCall()),
      CacheCall: Object.seal(new module.CacheCall()),
      LayerCreation: Object.seal(new module.LayerCreation()),
      LayerCall: Object.seal(new module.LayerCall()),
    };
  }

  /** The one struct of its kind, used for every such call. Sealed: setting a property that C++ lacks is a TypeError. */
  struct<K extends keyof CallStructs>(kind: K): CallStructs[K] {
    return this.#structs[kind];
  }

  /**
   * Runs one call. `start` places arrays in the arena and starts the engine; the function it returns collects the
   * results when the engine is done. The arena is freed whatever happens. On a thread that may block, all has happened
   * when this returns.
   *
   * @param changing - Reads again what the call may have changed in the engine. A call that fails may have, too.
   */
  call<T>(
    operation: string,
    start: (arena: Arena) => () => T,
    changing?: { readonly refresh: () => void },
  ): Eventually<T> {
    if (this.#end) throw this.#end(operation);
    this.#latest = operation;
    const arena = this.heap.arena(operation);
    const finish = (collect: () => T): T => {
      try {
        changing?.refresh();
        this.#check(operation);
        return collected(operation, collect);
      } finally {
        arena.free();
      }
    };
    let collect: () => T;
    try {
      collect = start(arena);
    } catch (error) {
      throw this.#afterThrow(operation, error, arena);
    }
    return this.#isFinished() ? finish(collect) : this.#finished(operation).then(() => finish(collect));
  }

  /** Ends the engine's threads. A call that runs now, and calls to come, fail with what `reason` makes. */
  end(reason: (operation: string) => HeadwiseError): void {
    if (this.#end) return;
    this.#end = reason;
    this.module.PThread?.terminateAllThreads();
    Atomics.notify(this.heap.word(this.native.finished), 0); // who awaits the call looks again
  }

  /** Our own errors leave the engine as it was; anything else is a trap, after which its memory cannot be trusted. */
  #afterThrow(operation: string, error: unknown, arena: Arena): unknown {
    if (HeadwiseError.is(error)) {
      arena.free();
      return error;
    }
    // Emscripten's way out of a wait for threads of which one has trapped
    this.crashed(error === "unwind" ? "a thread of its pool trapped" : error);
    return this.#end!(operation);
  }

  /** The module has stopped, here or on another thread, for no reason that it should have. */
  crashed(cause: unknown): void {
    const latest = this.#latest;
    this.end(
      (operation) =>
        new HeadwiseError(`${operation}: the engine stopped in ${latest}: ${String(cause)}`, {
          code: "INTERNAL",
          cause,
          hint: "This is a bug in headwise. Create a new instance: this one has ended.",
        }),
    );
  }

  #isFinished(): boolean {
    return Atomics.load(this.heap.word(this.native.finished), 0) === 1;
  }

  async #finished(operation: string): Promise<void> {
    while (!this.#isFinished()) {
      if (this.#end) throw this.#end(operation);
      await this.#changed();
    }
  }

  /** Settles when the word may have changed. */
  #changed(): Promise<unknown> {
    if (typeof Atomics.waitAsync !== "function")
      return new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    return Promise.resolve(Atomics.waitAsync(this.heap.word(this.native.finished), 0, 0).value);
  }

  #check(operation: string): void {
    const { code } = this.native;
    if (code === 0) return;
    const message = `${operation}: ${this.heap.text(this.native.message)}`;
    if (code === EMPTY_ROW) throw new EmptyRowError(message, this.#rows());
    const [Type, details] = ERRORS[code] ?? [HeadwiseError];
    throw new Type(message, details);
  }

  #rows(): { batch: number; head: number; query: number }[] {
    const { rows, rowCount } = this.native;
    const numbers = this.heap.read(rows, "int32", 3 * rowCount);
    return Array.from({ length: rowCount }, (_, n) => ({
      batch: numbers[3 * n]!,
      head: numbers[3 * n + 1]!,
      query: numbers[3 * n + 2]!,
    }));
  }
}

/** Our part of collecting is checked before the call; what is left to fail is an array for the caller. */
function collected<T>(operation: string, collect: () => T): T {
  try {
    return collect();
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: the results do not fit the memory of JavaScript: ${String(cause)}`, {
      cause,
    });
  }
}
