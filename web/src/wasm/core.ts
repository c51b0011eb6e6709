import { realTimeout } from "../base/timers.js";
import {
  EmptyRowError,
  HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
  type ErrorDetails,
} from "../base/errors.js";
import type { LoadLatePart } from "../load/host.js";
import type { Eventually } from "../turn/context.js";
import { structWithFields, type CallClass, type CallStruct } from "./callFields.js";
import { Arena, Heap, MEMORY_HINT } from "./heap.js";
import { LatePart } from "./latePart.js";
import type { CallStructs, NativeCore, WasmModule } from "./module.js";

/** Values of `StatusCode` in headwise/status.h. EMPTY_ROW is apart, because its error also lists the rows. */
const EMPTY_ROW = 4;
const ERRORS: Readonly<Record<number, readonly [typeof HeadwiseError, ErrorDetails?]>> = {
  1: [ShapeError],
  2: [OptionError],
  3: [UnsupportedError],
  5: [OutOfMemoryError, { hint: MEMORY_HINT }],
  6: [OptionError, { code: "CORRUPT_DATA" }],
};

/** How often a wait reads the word if the engine has no Atomics.waitAsync. */
const POLL_MILLISECONDS = 1;

/** The calls that a step copies. */
export type CopiedCall = "LayerCall" | "LinearCall" | "RotaryCall" | "AttentionCall";

/** One wasm module with its memory. It runs one call at a time; the instance's queue guarantees that. */
export class WasmCore {
  readonly module: WasmModule;
  readonly heap: Heap;
  readonly native: NativeCore;
  /** Whether the inputs of attention are copied within the call. */
  readonly copiesMeanwhile: boolean;
  readonly #structs: CallStructs;
  /** The arrays of the call that runs. */
  readonly #arena: Arena;
  /** The places of `finished` and of the status' code among the words of memory. */
  readonly #finishedAt: number;
  readonly #statusAt: number;
  /** The operation of the latest call. */
  #latest = "its start";
  /** The part of the module that is not linked yet. undefined if there is none. */
  #late: LatePart | undefined;
  /** The running call, while it waits for code. */
  #waiting: { isDropped: boolean } | undefined;
  /** Set when no call can run any more: makes the error of every later call. */
  #end: ((operation: string) => HeadwiseError) | undefined;

  /** @param dispatched - true if calls must not block this thread. C++ then runs them on another thread. */
  constructor(module: WasmModule, memory: WebAssembly.Memory, threads: number, dispatched: boolean) {
    this.module = module;
    this.heap = new Heap(memory, module);
    this.native = new module.Engine(threads, dispatched);
    this.copiesMeanwhile = this.native.copiesMeanwhile;
    this.#finishedAt = this.native.finished >>> 2;
    this.#statusAt = this.native.status >>> 2;
    // Made at the start: if a call made its struct while memory is full, that would end the engine.
    this.#arena = new Arena(this.heap, this.#latest, this.heap.block());
    const struct = <T extends object>(Class: CallClass<T>) => structWithFields(Class, this.heap);
    this.#structs = {
      AttentionCall: struct(module.AttentionCall),
      BackwardCall: struct(module.BackwardCall),
      MergeCall: struct(module.MergeCall),
      RotaryCall: struct(module.RotaryCall),
      CacheCall: struct(module.CacheCall),
      LayerCreation: struct(module.LayerCreation),
      LayerCall: struct(module.LayerCall),
      LayerBackwardCall: struct(module.LayerBackwardCall),
      LayerUpdateCall: struct(module.LayerUpdateCall),
      LinearCall: struct(module.LinearCall),
      LinearBackwardCall: struct(module.LinearBackwardCall),
    };
  }

  /** The block that the matrix product computes at a time, such as "2x4". The core may choose another one before a call. */
  get productBlock(): string {
    return this.heap.text(this.native.block);
  }

  /** The struct that all calls of this kind use. */
  struct<K extends keyof CallStructs>(kind: K): CallStructs[K] {
    this.heap.renew();
    return this.#structs[kind];
  }

  /** Copies the struct as it is now, for a call that runs many times. Returns the address of the copy. */
  copyOf(kind: CopiedCall, size: number, arena: Arena): number {
    const to = arena.bytes(size);
    this.heap.move((this.#structs[kind] as unknown as CallStruct).at, size, to);
    return to;
  }

  /**
   * Runs one call. `start` places arrays in the arena and starts the engine. The function that `start` returns collects
   * the results when the engine is done. The arena is freed in any case. On a thread that may block, the call is
   * complete when this method returns.
   *
   * @param changing - Reads again what the call may have changed in the engine, also when the call failed.
   */
  call<T>(
    operation: string,
    start: (arena: Arena) => () => T,
    changing?: { readonly refresh: () => void },
  ): Eventually<T> {
    if (this.#end) throw this.#end(operation);
    this.#latest = operation;
    const arena = this.#arena.begin(operation);
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

  /** Says that the module is split, and how to load its late part. */
  splitWith(load: LoadLatePart): void {
    this.#late = new LatePart(this.module, this.native, load);
  }

  /** Begins to load the late part, without a call that needs it. */
  expectLatePart(operation: string): void {
    this.#late?.expect(operation);
  }

  /** Runs a call that uses the late part of the module. The first such call loads it. */
  withLatePart<T>(operation: string, work: () => Eventually<T>): Eventually<T> {
    const late = this.#late;
    if (!late || this.#end) return work(); // `call` throws if the engine has ended
    this.#latest = operation;
    const linking = late.link(operation).then(() => {
      this.#late = undefined;
    });
    return this.after(linking, operation, work);
  }

  /** Runs a call that waits for code. Until that is here, the call can be dropped. */
  async after<Code, T>(code: Promise<Code>, operation: string, work: (code: Code) => Eventually<T>): Promise<T> {
    const waiting = { isDropped: false };
    this.#waiting = waiting;
    try {
      await code;
    } finally {
      this.#waiting = undefined;
    }
    if (waiting.isDropped) throw new DOMException(`${operation}: the call was aborted`, "AbortError");
    return work(await code);
  }

  /** As `Engine` has it. */
  drop(): boolean {
    if (!this.#waiting) return false;
    this.#waiting.isDropped = true;
    return true;
  }

  /** Ends the engine's threads. The running call and all later calls fail with the error that `reason` makes. */
  end(reason: (operation: string) => HeadwiseError): void {
    if (this.#end) return;
    this.#end = reason;
    this.module.PThread?.terminateAllThreads();
    this.#late?.end(reason);
    Atomics.notify(this.heap.word(this.native.finished), 0); // the code that awaits the call reads the word again
  }

  /**
   * After one of our own errors the engine is as before. Any other error is a trap: the engine's memory is then
   * invalid.
   */
  #afterThrow(operation: string, error: unknown, arena: Arena): unknown {
    if (HeadwiseError.is(error)) {
      arena.free();
      return error;
    }
    // Emscripten throws "unwind" out of a wait for threads if one of them has trapped
    this.crashed(error === "unwind" ? "a thread of its pool trapped" : error);
    return this.#end!(operation);
  }

  /** Ends the core because the module has stopped, on this or another thread, with an error that is not ours. */
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
    this.heap.renew();
    return Atomics.load(this.heap.views.words, this.#finishedAt) === 1;
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
      return new Promise((resolve) => realTimeout(resolve, POLL_MILLISECONDS));
    return Promise.resolve(Atomics.waitAsync(this.heap.word(this.native.finished), 0, 0).value);
  }

  #check(operation: string): void {
    const code = this.heap.views.words[this.#statusAt]!;
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

/** Collects the results. Beside an array of the caller's that was lost meanwhile, only to make an array can fail. */
function collected<T>(operation: string, collect: () => T): T {
  try {
    return collect();
  } catch (cause) {
    if (HeadwiseError.is(cause)) throw cause;
    throw new OutOfMemoryError(`${operation}: the results do not fit the memory of JavaScript: ${String(cause)}`, {
      cause,
    });
  }
}
