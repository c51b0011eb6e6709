import type { PlacedResult } from "../attention/attentionResult.js";
import { masks, refuseOverlap } from "../attention/overlap.js";
import type { PlacedViews } from "../attention/views.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import type { CacheDtype } from "../cache/cacheDtype.js";
import type { CacheForm, CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import type { KeptTokens } from "../cache/keptTokens.js";
import type { Eventually } from "../turn/context.js";
import { writeKeysAndValues, writeShape, writeWanted } from "./attention.js";
import type { WasmCore } from "./core.js";
import type { Arena } from "./heap.js";
import { DTYPE, LAYOUT, placeInput } from "./inputs.js";
import { writePatches, writeViews } from "./inside.js";
import { usesLatePart } from "./latePart.js";
import type { AttentionCall, CacheCall } from "./module.js";
import { writeAngles } from "./rotary.js";
import { writeSettings } from "./settings.js";

/** The enumerators of embind.cpp and, for the storage type of caches, of attention.h. */
const OPERATION = { create: 0, append: 1, rewind: 2, fork: 3, slice: 4, save: 5, load: 6, select: 7, keep: 8 } as const;
const STORED: readonly CacheDtype[] = ["float32", "float16", "int8"];

export function createCache(core: WasmCore, problem: CacheProblem): Eventually<EngineCache> {
  return makeCache(core, problem.operation, "create", (call, arena) => {
    call.batchSize = problem.batchSize;
    call.numKvHeads = problem.numKvHeads;
    call.headDim = problem.headDim;
    call.valueDim = problem.valueDim;
    call.dtype = STORED.indexOf(problem.dtype);
    call.capacity = problem.capacity ?? 0;
    call.keepFirst = problem.ring?.keepFirst ?? 0;
    call.window = problem.ring?.window ?? 0;
    call.cachePositions = Number(problem.ring?.positions === "cache");
    if (!problem.rotary) return;
    call.turns = 1;
    writeAngles(call, problem.rotary, arena);
  });
}

export function loadCache(core: WasmCore, operation: string, bytes: Uint8Array): Eventually<EngineCache> {
  return makeCache(core, operation, "load", (call, arena) => {
    call.bytes = arena.copy(bytes);
    call.size = bytes.byteLength;
  });
}

/** Runs an operation on a cache. `write` fills the call struct. */
function operate<T>(
  core: WasmCore,
  operation: string,
  kind: keyof typeof OPERATION,
  write: (call: CacheCall, arena: Arena) => void,
  collect: () => T,
  changing?: WasmCache,
): Eventually<T> {
  const start = (arena: Arena) => {
    const call = core.struct("CacheCall");
    call.reset();
    call.operation = OPERATION[kind];
    write(call, arena);
    core.native.cache(call);
    return collect;
  };
  return core.call(operation, start, changing);
}

/** Runs an operation whose result is a cache. */
function makeCache(
  core: WasmCore,
  operation: string,
  kind: "create" | "fork" | "slice" | "load",
  write: (call: CacheCall, arena: Arena) => void,
): Eventually<EngineCache> {
  return operate(core, operation, kind, write, () => new WasmCache(core, core.struct("CacheCall").result));
}

/** A cache in the core's memory. */
export class WasmCache implements EngineCache {
  readonly #core: WasmCore;
  /** The address of the KvCache in C++. */
  readonly address: number;
  readonly form: CacheForm;
  readonly placement = "wasm";
  appended: readonly number[] = [];
  bytes = 0;

  constructor(core: WasmCore, address: number) {
    this.#core = core;
    this.address = address;
    this.form = formOf(core.struct("CacheCall"), address);
    this.refresh();
  }

  /** Reads what a call may have changed. Must not run during a call. */
  refresh(): void {
    const { module } = this.#core;
    const appended: number[] = [];
    for (let b = 0; b < this.form.batchSize; ++b) appended.push(module.cacheAppended(this.address, b));
    this.appended = appended;
    this.bytes = module.cacheBytes(this.address);
  }

  append(tokens: AppendProblem): Eventually<void> {
    return this.#operate(tokens.operation, "append", (call, arena) => {
      call.layout = LAYOUT[tokens.layout];
      call.numTokens = tokens.numTokens;
      call.lengths = arena.copy(tokens.lengths);
      call.positions = arena.copy(tokens.positions?.data);
      if (tokens.positions) call.positionPlanes = tokens.positions.planes;
      writeKeysAndValues(call, arena, tokens);
    });
  }

  attend(problem: AttendProblem): Eventually<PlacedResult & PlacedViews> {
    return this.#attend(problem, undefined, (call) => {
      call.cache = this.address;
    });
  }

  step(append: AppendProblem, attend: AttendProblem): Eventually<PlacedResult & PlacedViews> {
    return this.#attend(attend, append, (call, arena) => {
      call.grows = this.address;
      call.kvLayout = LAYOUT[append.layout];
      call.numTokens = append.numTokens;
      call.appendLengths = arena.copy(append.lengths);
      writeKeysAndValues(call, arena, append);
    });
  }

  /** @param tokens - What the cache gains. */
  #attend(
    problem: AttendProblem,
    tokens: AppendProblem | undefined,
    write: (call: AttentionCall, arena: Arena) => void,
  ): Eventually<PlacedResult & PlacedViews> {
    const { operation } = problem;
    const { heap, native } = this.#core;
    const call = this.#core.struct("AttentionCall");
    refuseOverlap(operation, problem.output, {
      query: problem.query,
      key: tokens?.key,
      value: tokens?.value,
      ...masks(problem.settings),
    });
    const start = (arena: Arena) => {
      call.reset();
      writeShape(call, problem.shape);
      call.layout = LAYOUT[problem.layout];
      call.query = placeInput(arena, problem.query);
      call.queryDtype = DTYPE[problem.query.dtype];
      call.queryPositions = arena.copy(problem.positions?.data);
      if (problem.positions) call.queryPositionPlanes = problem.positions.planes;
      write(call, arena);
      writeSettings(call, arena, problem.settings);
      writePatches(call, arena, problem.patches);
      const collect = writeWanted(call, heap, arena, problem);
      const collectViews = writeViews(call, arena, problem);
      native.attention(call);
      return () => ({ ...collect(), ...collectViews() });
    };
    const work = () => this.#core.call(operation, start, tokens && this);
    return usesLatePart(problem, this.form.dtype) ? this.#core.withLatePart(operation, work) : work();
  }

  rewind(operation: string, lengths: Int32Array): Eventually<void> {
    return this.#operate(operation, "rewind", (call, arena) => {
      call.lengths = arena.copy(lengths);
    });
  }

  select(operation: string, indices: Int32Array): Eventually<void> {
    return this.#operate(operation, "select", (call, arena) => {
      call.indices = arena.copy(indices);
    });
  }

  keep(operation: string, { from, counts, rows }: KeptTokens): Eventually<void> {
    const write = (call: CacheCall, arena: Arena) => {
      call.keptFrom = arena.copy(from);
      call.keptCounts = arena.copy(counts);
      call.keptRows = arena.copy(rows);
    };
    return this.#core.withLatePart(operation, () => this.#operate(operation, "keep", write));
  }

  fork(operation: string): Eventually<EngineCache> {
    return makeCache(this.#core, operation, "fork", (call) => {
      call.cache = this.address;
    });
  }

  slice(operation: string, from: number, to: number): Eventually<EngineCache> {
    return makeCache(this.#core, operation, "slice", (call) => {
      call.cache = this.address;
      call.from = from;
      call.to = to;
    });
  }

  save(operation: string): Eventually<Uint8Array> {
    return this.#core.withLatePart(operation, () => this.#save(operation));
  }

  #save(operation: string): Eventually<Uint8Array> {
    const size = this.#core.module.cacheSavedSize(this.address);
    let bytes = 0;
    return operate(
      this.#core,
      operation,
      "save",
      (call, arena) => {
        call.cache = this.address;
        call.bytes = bytes = arena.bytes(size);
        call.size = size;
      },
      () => this.#core.heap.read(bytes, "bool", size),
    );
  }

  release(): void {
    this.#core.module.releaseCache(this.address);
  }

  #operate(
    operation: string,
    kind: "append" | "rewind" | "select" | "keep",
    write: (call: CacheCall, arena: Arena) => void,
  ): Eventually<void> {
    const writeAll = (call: CacheCall, arena: Arena) => {
      call.cache = this.address;
      write(call, arena);
    };
    return operate(this.#core, operation, kind, writeAll, () => undefined, this);
  }
}

function formOf(call: CacheCall, address: number): CacheForm {
  call.describe(address);
  const { batchSize, numKvHeads, headDim, valueDim, dtype, capacity, keepFirst, window, cachePositions, turns } = call;
  return {
    batchSize,
    numKvHeads,
    headDim,
    valueDim,
    dtype: STORED[dtype]!,
    capacity: capacity === 0 ? undefined : capacity,
    ring: window === 0 ? undefined : { keepFirst, window, positions: cachePositions === 1 ? "cache" : "text" },
    rotary: turns === 1,
    sections: call.sections === 1,
  };
}
