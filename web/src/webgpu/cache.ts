import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult } from "../attention/attentionResult.js";
import type { AppendProblem } from "../cache/appendProblem.js";
import type { AttendProblem } from "../cache/attendProblem.js";
import { heldLength, type CacheForm, type CacheProblem } from "../cache/cacheProblem.js";
import type { EngineCache } from "../cache/engineCache.js";
import { savedBytes } from "../cache/savedRows.js";
import { DeviceLostError, OptionError, ShapeError } from "../errors/errors.js";
import { GpuData } from "../tensor/gpuTensor.js";
import { largestOf } from "../tensor/largest.js";
import type { CheckedFloats } from "../tensor/tensor.js";
import { encodeOrRead, planOf, type Cached, type InPlace } from "./attention.js";
import { readCache, writeCache } from "./cacheFile.js";
import { CacheStore, droppedOf, fillFile, fillStore, padded, runsOf } from "./cacheStore.js";
import { runCall, type Call, type Span } from "./call.js";
import type { GpuCore } from "./core.js";
import { packRows } from "./pack.js";
import { MOST_TOKENS, type Sequence } from "./sequences.js";
import { storeRows, type Rows } from "./storeRows.js";
import { stridesOf } from "./strides.js";
import { turnRows } from "./turnRows.js";

/** Room for this many tokens at first; it doubles when they run out. */
const FIRST_PLACES = 64;

/** What a cache holds at some time. */
interface Held {
  readonly store: CacheStore;
  /** By batch. */
  readonly appended: readonly number[];
}

/** What a cache will hold when a call has run; until `commit` it is as before. */
export interface Growth extends Held {
  commit(): void;
}

/** A cache as the facade holds it, with the one behind it. */
export interface GpuEngineCache extends EngineCache {
  readonly cache: GpuCache;
}

/** Keys and values on the GPU; tokens are copied there once and read where they lie. */
export class GpuCache {
  readonly form: CacheForm;
  readonly #problem: CacheProblem;
  readonly #device: GPUDevice;
  #held: Held;
  /** What a rotary embedding adds to positions, by batch: not 0 in a slice, whose keys were turned where they came from. */
  readonly #origins: readonly number[];

  private constructor(engine: GpuCore, problem: CacheProblem, held: Held, origins: readonly number[]) {
    this.form = held.store.form;
    this.#problem = problem;
    this.#device = engine.device.gpuDevice;
    this.#held = held;
    this.#origins = origins;
  }

  static empty(engine: GpuCore, problem: CacheProblem): Promise<GpuCache> {
    const none = Array.from({ length: problem.batchSize }, () => 0);
    return runCall(engine, problem.operation, (call) => {
      const store = storeFor(engine, problem, 0);
      call.onFailure(() => store.release());
      return () => new GpuCache(engine, problem, { store, appended: none }, none);
    });
  }

  static load(engine: GpuCore, operation: string, bytes: Uint8Array): Promise<GpuCache> {
    const { problem, appended, origins, rows } = readCache(operation, bytes);
    return runCall(engine, operation, (call) => {
      const store = storeFor(engine, problem, longestOf(problem, appended), 0);
      call.onFailure(() => store.release());
      fillStore(call, store, appended, rows);
      return () => new GpuCache(engine, problem, { store, appended }, origins);
    });
  }

  get appended(): readonly number[] {
    return this.#held.appended;
  }

  get bytes(): number {
    return this.#held.store.bytes;
  }

  append(engine: GpuCore, { operation, numTokens, layout, lengths, key, value }: AppendProblem): Promise<void> {
    const { batchSize, numKvHeads, headDim, valueDim } = this.form;
    const rows = (call: Call, tensor: CheckedFloats, width: number): Rows => ({
      span: call.place(tensor),
      dtype: tensor.dtype,
      strides: stridesOf(layout, numKvHeads, numTokens, width),
    });
    return runCall(engine, operation, (call) => {
      const keys = rows(call, key, headDim);
      const grown = this.grow(engine, call, numTokens, lengths, {
        key: this.#problem.rotary
          ? this.#packedAndTurned(call, keys, [batchSize, numKvHeads, numTokens], this.#ends())
          : keys,
        value: rows(call, value, valueDim),
      });
      return () => grown.commit();
    });
  }

  /** Lists the kernels that append the leading lengths[b] of `numTokens` rows; keys are turned already. */
  grow(
    engine: GpuCore,
    call: Call,
    numTokens: number,
    lengths: Int32Array | undefined,
    rows: { readonly key: Rows; readonly value: Rows },
  ): Growth {
    this.#assertHere(engine, call.operation);
    const before = this.#held;
    const gains = before.appended.map((_, b) => lengths?.[b] ?? numTokens);
    const appended = before.appended.map((total, b) => total + gains[b]!);
    this.#checkRoom(call.operation, gains);
    const store = this.#writable(engine, call, longestOf(this.form, appended));
    for (const side of ["key", "value"] as const)
      storeRows(call, store, side, rows[side], numTokens, before.appended, gains);
    const after = { store, appended };
    call.onFailure(() => this.#undo(before, after));
    const commit = () => {
      if (store !== before.store) before.store.release();
      this.#held = after;
    };
    return { ...after, commit };
  }

  attend(engine: GpuCore, problem: AttendProblem): Promise<AttentionResult> {
    const { operation, layout, query, shape } = problem;
    this.#assertHere(engine, operation);
    const sequences = this.sequences(problem);
    const { batchSize, numHeads, queryLength, headDim } = shape;
    const turns = this.#problem.rotary !== undefined;
    const inPlace: InPlace = {
      ...(turns && { query: stridesOf("BHSD", numHeads, queryLength, padded(headDim)) }),
      cached: this.cached(),
    };
    return runCall(engine, operation, (call) => {
      const rows = () => {
        const strides = stridesOf(layout, numHeads, queryLength, headDim);
        const given = { span: call.place(query), dtype: query.dtype, strides };
        const offsets = sequences.map(({ offset }, b) => offset + this.#origins[b]!);
        return this.#packedAndTurned(call, given, [batchSize, numHeads, queryLength], offsets).span;
      };
      const attention: AttentionProblem = {
        ...problem,
        query: turns ? onGpu("query", rows()) : query,
        ...this.keysAndValues(),
        ragged: undefined,
        signal: undefined,
      };
      return encodeOrRead(call, attention, planOf(engine, attention, sequences, inPlace), sequences, inPlace);
    });
  }

  /** The batches as the kernels see them: query 0 stands at tokens appended − query length unless options say else. */
  sequences(
    { operation, shape, settings }: Pick<AttentionProblem, "operation" | "shape" | "settings">,
    { appended }: Pick<Held, "appended"> = this.#held,
  ): Sequence[] {
    const { keyLengths, queryLengths, queryOffset, causal } = settings;
    return appended.map((total, batch) => {
      const numKeys = heldLength(this.form, total);
      const keyLength = keyLengths?.[batch] ?? numKeys;
      if (keyLength > numKeys)
        throw new OptionError(
          `${operation}: keyLengths[${batch}] must be at most the tokens held, got ${keyLength} and ${numKeys}`,
        );
      const queryLength = queryLengths?.[batch] ?? shape.queryLength;
      const aligned = causal === "upper-left" ? 0 : total - queryLength;
      const offset = queryOffset?.[batch] ?? aligned;
      const dropped = droppedOf(this.form, total);
      const seam = this.form.ring ? dropped % this.form.ring.window : 0;
      const whole = { batch, queryBegin: 0, numQueries: shape.queryLength, keyBegin: 0, numKeys };
      return { ...whole, queryLength, keyLength, offset, dropped, seam };
    });
  }

  /** How the attention kernels find the rows. */
  cached({ store }: Pick<Held, "store"> = this.#held): Cached {
    const { dtype, ring } = this.form;
    return { dtype, ring, key: store.strides("key"), value: store.strides("value") };
  }

  keysAndValues({ store }: Pick<Held, "store"> = this.#held): Pick<AttentionProblem, "key" | "value"> {
    return { key: onGpu("key", store.span("key")), value: onGpu("value", store.span("value")) };
  }

  /** Rotary embedding of a layer's heads, [B, S, H, padded width], if the cache turns: keys to append, or queries. */
  turn(
    call: Call,
    heads: Span,
    extents: readonly [batch: number, heads: number, length: number],
    sequences?: readonly Sequence[],
  ): Span {
    const first = sequences?.map(({ offset }, b) => offset + this.#origins[b]!) ?? this.#ends();
    return this.#problem.rotary ? this.#turned(call, heads, "BSHD", extents, first) : heads;
  }

  rewind(operation: string, lengths: Int32Array): void {
    lengths.forEach((length, b) => {
      if (!this.#canRewind(this.#held.appended[b]!, length))
        throw new OptionError(
          `${operation}: batch ${b} of a ring has dropped tokens that it would hold at length ${length}`,
        );
    });
    this.#held = { ...this.#held, appended: [...lengths] };
  }

  /** Shares the memory until either writes. */
  fork(engine: GpuCore, operation: string): GpuCache {
    this.#assertHere(engine, operation);
    const { store, appended } = this.#held;
    return new GpuCache(engine, this.#problem, { store: store.share(), appended }, this.#origins);
  }

  slice(engine: GpuCore, operation: string, from: number, to: number): Promise<GpuCache> {
    this.#assertHere(engine, operation);
    const { store, appended } = this.#held;
    const ranges = appended.map((total) => {
      const length = heldLength(this.form, total);
      return { begin: Math.min(from, length), end: Math.min(to, length) };
    });
    const counts = ranges.map(({ begin, end }) => end - begin);
    // the next token stands right after the last row, in the new numbering as in the angles
    const origins = this.#origins.map((origin, b) =>
      this.#problem.rotary ? origin + this.#endPosition(appended[b]!, ranges[b]!.end) - counts[b]! : 0,
    );
    return runCall(engine, operation, (call) => {
      const copy = storeFor(engine, this.#problem, largestOf(counts));
      call.onFailure(() => copy.release());
      ranges.forEach(({ begin, end }, b) => store.copyTo(call, copy, b, runsOf(this.form, appended[b]!, begin, end)));
      return () => new GpuCache(engine, this.#problem, { store: copy, appended: counts }, origins);
    });
  }

  save(engine: GpuCore, operation: string): Promise<Uint8Array> {
    this.#assertHere(engine, operation);
    const { store, appended } = this.#held;
    return runCall(engine, operation, (call) => {
      const [key, value] = [call.read(store.span("key")), call.read(store.span("value"))];
      return (result) => {
        const rows = new Uint8Array(savedBytes(this.form, appended));
        fillFile(store, appended, { key: new Uint8Array(key(result)), value: new Uint8Array(value(result)) }, rows);
        return writeCache({ problem: this.#problem, appended, origins: this.#origins, rows });
      };
    });
  }

  release(): void {
    this.#held.store.release();
  }

  /** The position of the next token by its angle, by batch. */
  #ends(): number[] {
    return this.#held.appended.map((total, b) => total + this.#origins[b]!);
  }

  #endPosition(total: number, row: number): number {
    const kept = this.form.ring?.keepFirst ?? 0;
    return row > kept ? row + droppedOf(this.form, total) : row;
  }

  #packedAndTurned(
    call: Call,
    { span, dtype, strides }: Rows,
    extents: readonly [batch: number, heads: number, length: number],
    first: readonly number[],
  ): Rows {
    const [, heads, length] = extents;
    const { headDim } = this.form;
    const rows = packRows(call, span, dtype, strides, [...extents, headDim]);
    return {
      span: this.#turned(call, rows, "BHSD", extents, first),
      dtype: "float32",
      strides: stridesOf("BHSD", heads, length, padded(headDim)),
    };
  }

  /** Row i of batch b turned by the angle of first[b] + i. */
  #turned(
    call: Call,
    rows: Span,
    layout: "BHSD" | "BSHD",
    extents: readonly [batch: number, heads: number, length: number],
    first: readonly number[],
  ): Span {
    const [batchSize, , length] = extents;
    const position = (_: unknown, n: number) => first[Math.floor(n / length)]! + (n % length);
    const positions = Float64Array.from({ length: batchSize * length }, position);
    return turnRows(call, rows, this.#problem.rotary!, this.form.headDim, layout, extents, positions);
  }

  #checkRoom(operation: string, gains: readonly number[]): void {
    const most = this.form.ring ? MOST_TOKENS : Math.min(this.form.capacity ?? MOST_TOKENS, MOST_TOKENS);
    gains.forEach((gain, b) => {
      const total = this.#held.appended[b]!;
      if (total + gain > most)
        throw new ShapeError(`${operation}: batch ${b} holds ${total} of at most ${most} tokens: no room for ${gain}`);
    });
  }

  /** A store of at least so many places that nobody else reads: that at hand, or a copy. */
  #writable(engine: GpuCore, call: Call, places: number): CacheStore {
    const { store, appended } = this.#held;
    if (!store.isShared && places <= store.places) return store;
    const roomy = places <= store.places ? places : Math.min(Math.max(places, 2 * store.places), mostPlaces(this.form));
    const copy = storeFor(engine, { ...this.#problem, operation: call.operation }, Math.max(roomy, store.places));
    appended.forEach((total, b) => {
      const count = Math.min(total, store.places);
      if (count > 0) store.copyTo(call, copy, b, [{ place: 0, count }]);
    });
    return copy;
  }

  /** After a failed call: tokens that were appended go again, unless a ring has dropped others for them. */
  #undo(before: Held, after: Held): void {
    if (this.#held === before) {
      if (after.store !== before.store) after.store.release();
    } else if (after.appended.every((total, b) => this.#canRewind(total, before.appended[b]!))) {
      this.#held = { ...after, appended: before.appended };
    }
  }

  #canRewind(total: number, length: number): boolean {
    const kept = this.form.ring?.keepFirst ?? 0;
    return length <= kept || length >= total || droppedOf(this.form, length) === droppedOf(this.form, total);
  }

  #assertHere({ device }: GpuCore, operation: string): void {
    if (device.gpuDevice !== this.#device)
      throw new DeviceLostError(`${operation}: the cache was lost with its GPU device`, {
        hint: "Make a new cache and append the tokens again.",
      });
  }
}

/** The most places that a batch can take. */
function mostPlaces({ ring, capacity }: Pick<CacheForm, "ring" | "capacity">): number {
  return ring ? ring.keepFirst + ring.window : (capacity ?? Infinity);
}

function longestOf(form: Pick<CacheForm, "ring">, appended: readonly number[]): number {
  return largestOf(appended.map((total) => heldLength(form, total)));
}

/** Room for `places` tokens or, of few, for the first. */
function storeFor(engine: GpuCore, problem: CacheProblem, places: number, first = FIRST_PLACES): CacheStore {
  const form = { ...problem, rotary: problem.rotary !== undefined };
  const enough = Math.max(places, Math.min(first, mostPlaces(form)));
  return new CacheStore(engine, problem.operation, form, enough);
}

/** Rows that the attention kernels read where they lie. */
function onGpu(name: string, { buffer, offset, bytes }: Span): CheckedFloats {
  return {
    data: new GpuData(name, buffer, offset, bytes, true),
    shape: [],
    dtype: "float32",
  } as unknown as CheckedFloats;
}
