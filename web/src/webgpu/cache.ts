import type { AttentionProblem, CheckedFloats } from "../attentionProblem.js";
import type { AttentionResult } from "../backend.js";
import type { AppendProblem, AttendProblem, CacheForm, CacheProblem } from "../cache.js";
import { DeviceLostError, OptionError, ShapeError, UnsupportedError } from "../errors.js";
import { GpuData } from "../gpuData.js";
import { encodeOrRead, planOf, type InPlace } from "./attention.js";
import { runCall, type Call, type Span } from "./call.js";
import type { Engine } from "./engine.js";
import { packRows } from "./pack.js";
import { divideUp } from "./plan.js";
import { FARTHEST, type Sequence } from "./sequences.js";
import { stridesOf } from "./strides.js";
import { turnRows } from "./turnRows.js";

const padded = (width: number): number => 4 * divideUp(width, 4);

/** Room for this many tokens at first; it doubles when they run out. */
const FIRST_CAPACITY = 64;
const USAGE = 0x80 | 0x8 | 0x4; // STORAGE | COPY_DST | COPY_SRC

interface Store {
  readonly capacity: number;
  /** [B, Hkv, capacity, padded width] */
  readonly key: GPUBuffer;
  readonly value: GPUBuffer;
}

/** Keys and values on the GPU, float32; tokens are copied there once and read where they lie. */
export class GpuCache {
  readonly form: CacheForm;
  readonly #problem: CacheProblem;
  readonly #device: GPUDevice;
  #store: Store;
  #appended: number[];

  constructor(
    engine: Engine,
    problem: CacheProblem,
    capacity = Math.min(FIRST_CAPACITY, problem.capacity ?? Infinity),
  ) {
    refuse(problem);
    this.#problem = problem;
    this.form = { ...problem, rotary: problem.rotary !== undefined };
    this.#device = engine.device.gpuDevice;
    this.#appended = Array.from({ length: problem.batchSize }, () => 0);
    this.#store = this.#room(capacity);
  }

  get appended(): readonly number[] {
    return this.#appended;
  }

  get bytes(): number {
    return this.#store.key.size + this.#store.value.size;
  }

  async append(engine: Engine, problem: AppendProblem): Promise<void> {
    const { operation, numTokens, layout } = problem;
    this.#assertHere(engine, operation);
    const { batchSize, numKvHeads, headDim, valueDim } = this.form;
    const gains = Array.from({ length: batchSize }, (_, b) => problem.lengths?.[b] ?? numTokens);
    const after = this.#appended.map((appended, b) => appended + gains[b]!);
    const longest = Math.max(0, ...after);
    if (longest > (this.form.capacity ?? Infinity))
      throw new ShapeError(`${operation}: the cache's capacity must hold ${longest} tokens, got ${this.form.capacity}`);
    const old = this.#store;
    const store = await runCall(engine, operation, (call) => {
      const grown = longest > old.capacity ? this.#grow(call, longest) : old;
      const extents = (width: number) => [batchSize, numKvHeads, numTokens, width] as const;
      const rows = (tensor: CheckedFloats, width: number) =>
        packRows(
          call,
          call.place(tensor),
          tensor.dtype,
          stridesOf(layout, numKvHeads, numTokens, width),
          extents(width),
        );
      const positions = Float64Array.from(
        { length: batchSize * numTokens },
        (_, n) => this.#appended[Math.floor(n / numTokens)]! + (n % numTokens),
      );
      const keys = this.#turn(call, rows(problem.key, headDim), positions, numKvHeads, numTokens);
      this.#copyRows(call, keys, numTokens, grown.key, grown.capacity, padded(headDim), gains);
      this.#copyRows(
        call,
        rows(problem.value, valueDim),
        numTokens,
        grown.value,
        grown.capacity,
        padded(valueDim),
        gains,
      );
      return () => grown;
    });
    if (store !== old) this.#replace(store);
    this.#appended = after;
  }

  attend(engine: Engine, problem: AttendProblem): Promise<AttentionResult> {
    const { operation, shape, settings } = problem;
    this.#assertHere(engine, operation);
    const sequences = this.#sequences(problem);
    const { numKvHeads, headDim, valueDim } = this.form;
    const { capacity, key, value } = this.#store;
    const strides = (width: number) => stridesOf("BHSD", numKvHeads, capacity, padded(width));
    const inPlace: InPlace = {
      key: strides(headDim),
      value: strides(valueDim),
      ...(this.#problem.rotary && { query: stridesOf("BHSD", shape.numHeads, shape.queryLength, padded(headDim)) }),
    };
    return runCall(engine, operation, (call) => {
      const attention: AttentionProblem = {
        ...problem,
        settings,
        query: this.#query(call, problem, sequences),
        key: ours("key", key),
        value: ours("value", value),
        ragged: undefined,
        location: "cpu",
        signal: undefined,
      };
      return encodeOrRead(call, attention, planOf(engine, attention, sequences, inPlace), sequences, inPlace);
    });
  }

  rewind(lengths: Int32Array): void {
    this.#appended = [...lengths];
  }

  fork(engine: Engine, operation: string): Promise<GpuCache> {
    return this.#copy(engine, operation, 0, this.#store.capacity);
  }

  slice(engine: Engine, operation: string, from: number, to: number): Promise<GpuCache> {
    return this.#copy(engine, operation, from, to);
  }

  release(): void {
    this.#store.key.destroy();
    this.#store.value.destroy();
  }

  /** A cache of the tokens [from, to) of every batch, of a shorter batch what it has of them. */
  #copy(engine: Engine, operation: string, from: number, to: number): Promise<GpuCache> {
    this.#assertHere(engine, operation);
    const counts = this.#appended.map((appended) => Math.max(0, Math.min(appended, to) - from));
    const capacity = Math.max(FIRST_CAPACITY, ...counts);
    return runCall(engine, operation, (call) => {
      const copy = new GpuCache(engine, this.#problem, capacity);
      copy.#appended = counts;
      this.#copyTokens(call, copy.#store, from, counts);
      return () => copy;
    });
  }

  #query(call: Call, { layout, query, shape }: AttendProblem, sequences: readonly Sequence[]): CheckedFloats {
    if (!this.#problem.rotary) return query;
    const { batchSize, numHeads, queryLength, headDim } = shape;
    const extents = [batchSize, numHeads, queryLength, headDim] as const;
    const strides = stridesOf(layout, numHeads, queryLength, headDim);
    const rows = packRows(call, call.place(query), query.dtype, strides, extents);
    const positions = Float64Array.from(
      { length: batchSize * queryLength },
      (_, n) => sequences[Math.floor(n / queryLength)]!.offset + (n % queryLength),
    );
    const { buffer } = this.#turn(call, rows, positions, numHeads, queryLength);
    return ours("query", buffer);
  }

  #turn(call: Call, rows: Span, positions: Float64Array, heads: number, length: number): Span {
    const { rotary } = this.#problem;
    const { batchSize, headDim } = this.form;
    return rotary ? turnRows(call, rows, rotary, headDim, "BHSD", [batchSize, heads, length], positions) : rows;
  }

  /** The batches as the kernels see them: query 0 stands at tokens appended − query length unless options say else. */
  #sequences({ operation, shape, settings }: AttendProblem): Sequence[] {
    const { keyLengths, queryLengths, queryOffset, causal } = settings;
    return this.#appended.map((appended, batch) => {
      const keyLength = keyLengths?.[batch] ?? appended;
      if (keyLength > appended)
        throw new OptionError(
          `${operation}: keyLengths[${batch}] must be at most the tokens held, got ${keyLength} and ${appended}`,
        );
      const queryLength = queryLengths?.[batch] ?? shape.queryLength;
      const aligned = causal === "upper-left" ? 0 : appended - queryLength;
      const offset = Math.max(-FARTHEST, Math.min(FARTHEST, queryOffset?.[batch] ?? aligned));
      const whole = { batch, queryBegin: 0, numQueries: shape.queryLength, keyBegin: 0, numKeys: appended };
      return { ...whole, queryLength, keyLength, offset };
    });
  }

  #room(capacity: number): Store {
    const { batchSize, numKvHeads, headDim, valueDim } = this.form;
    const buffer = (width: number) => {
      const size = Math.max(16, 4 * batchSize * numKvHeads * capacity * padded(width));
      return this.#device.createBuffer({ size, usage: USAGE });
    };
    return { capacity, key: buffer(headDim), value: buffer(valueDim) };
  }

  #grow(call: Call, least: number): Store {
    const capacity = Math.min(Math.max(least, 2 * this.#store.capacity), this.form.capacity ?? Infinity);
    const store = this.#room(capacity);
    this.#copyTokens(call, store, 0, this.#appended);
    return store;
  }

  #replace(store: Store): void {
    this.release();
    this.#store = store;
  }

  /** Copies counts[b] tokens of every head from token `from` on to the beginning of another store. */
  #copyTokens(call: Call, to: Store, from: number, counts: readonly number[]): void {
    const { numKvHeads, headDim, valueDim } = this.form;
    for (const [name, width] of [
      ["key", headDim],
      ["value", valueDim],
    ] as const)
      // prettier-ignore
      counts.forEach((count, b) => {
        const row = 4 * padded(width);
        for (let h = b * numKvHeads; h < (b + 1) * numKvHeads; ++h)
          call.copyIn(
            { buffer: this.#store[name], offset: (h * this.#store.capacity + from) * row, bytes: count * row },
            { buffer: to[name], offset: h * to.capacity * row, bytes: count * row },
          );
      });
  }

  /** Copies the leading gains[b] rows of every head behind the tokens that the cache holds. */
  #copyRows(
    call: Call,
    rows: Span,
    numTokens: number,
    to: GPUBuffer,
    capacity: number,
    width: number,
    gains: readonly number[],
  ): void {
    const { numKvHeads } = this.form;
    gains.forEach((gain, b) => {
      for (let h = b * numKvHeads; h < (b + 1) * numKvHeads; ++h) {
        const bytes = 4 * gain * width;
        const from = { buffer: rows.buffer, offset: 4 * h * numTokens * width, bytes };
        call.copyOut(from, { buffer: to, offset: 4 * (h * capacity + this.#appended[b]!) * width, bytes });
      }
    });
  }

  #assertHere({ device }: Engine, operation: string): void {
    if (device.gpuDevice !== this.#device)
      throw new DeviceLostError(`${operation}: the cache was lost with its GPU device`, {
        hint: "Make a new cache and append the tokens again.",
      });
  }
}

function refuse({ operation, dtype, ring }: CacheProblem): void {
  const what = dtype !== "float32" ? `dtype "${dtype}"` : ring ? "ring" : undefined;
  if (what)
    throw new UnsupportedError(`${operation}: ${what} is not offered by the WebGPU engine yet`, {
      hint: 'Use backend "wasm", or "auto", whose caches are in wasm.',
    });
}

/** A buffer of the cache as a tensor that the attention kernels read where it lies. */
function ours(name: string, buffer: GPUBuffer): CheckedFloats {
  return {
    data: new GpuData(name, buffer, 0, buffer.size, true),
    shape: [],
    dtype: "float32",
  } as unknown as CheckedFloats;
}
