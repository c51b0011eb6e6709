import type {
  NoReturns,
  PlacedResult,
  RecordedAttention,
  RecordedCommands,
  ResultAt,
} from "../attention/attentionResult.js";
import type { AttentionSettings } from "../attention/attentionSettings.js";
import { noteForMerge } from "../attention/mergeNotes.js";
import type { AttendReturns, ViewsAt } from "../attention/views.js";
import { describe } from "../base/describe.js";
import { DisposedError, OptionError } from "../base/errors.js";
import type { OrAbsent } from "../read/asked.js";
import type { CallArguments } from "../read/callArguments.js";
import {
  ENCODER,
  encoderOf,
  recordsNothing,
  type EncoderChoice,
  type RecordedOr,
  type Recording,
} from "../read/encoder.js";
import type { LocationChoice } from "../read/location.js";
import { readOptions, type NumberList, type OptionReader } from "../read/options.js";
import { renamed } from "../read/renamed.js";
import { namesIn, type TableOf } from "../read/settingTable.js";
import type { GpuFloats, OnGpu } from "../tensor/gpuTensor.js";
import { largestOf } from "../tensor/largest.js";
import type { Layout } from "../tensor/layout.js";
import type { Place } from "../tensor/place.js";
import type { FloatTensor, FloatTensorLike } from "../tensor/tensor.js";
import type { Context, Recorded } from "../turn/context.js";
import { Disposing } from "../turn/disposable.js";
import { APPEND, appendProblem, KV_LAYOUT, type AppendOptions, type AppendProblem } from "./appendProblem.js";
import {
  ATTEND_NAMES,
  attendRequest,
  type AttendOptions,
  type AttendProblem,
  type AttendRequest,
} from "./attendProblem.js";
import { content, type CacheContent } from "./cacheContent.js";
import type { CacheDtype } from "./cacheDtype.js";
import type { CacheForm, CompleteRing } from "./cacheProblem.js";
import type { EngineCache } from "./engineCache.js";
import { formWhileGaining, heldLength, tokensAfter } from "./heldTokens.js";
import { keepsAll, keptTokens, tokensWithout, type KeptRows, type KeptTokens } from "./keptTokens.js";
import {
  forgetAppend,
  lastAppend,
  noteAppend,
  noteTokens,
  noting,
  selectAppend,
  withLengthsOf,
  type Append,
} from "./lastAppend.js";
import {
  beforeEdit,
  COPIED,
  grownPositions,
  keeping,
  keepOwnPositions,
  originsOf,
  ownPositions,
  rewoundPositions,
  selecting,
  slicing,
  withOwnPositions,
  type OwnPositions,
} from "./ownPositions.js";
import { refuseSliceAcrossGap } from "./ringPlaces.js";
import { readRows, type CacheRows } from "./savedRows.js";
import { selectedBatches } from "./selectedBatches.js";
import { tokenCounts, tokenRange } from "./tokenRange.js";

/** Options of a call of attend. `R` is the type of `returns`, `Into` the type of `into`. */
type CallOptions<R, Into> = OnGpu<Omit<AttendOptions, "returns" | "into" | "location">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/** Options that `step` has in addition to the options of `attend`. */
export interface StepOptions extends Pick<AppendOptions, "lengths"> {
  /** Memory order of key and value. Default `layout`. */
  readonly kvLayout?: Layout | undefined;
}

const APPEND_OR_RECORD = [...namesIn(APPEND), ENCODER];
const ATTEND_OR_RECORD = [...ATTEND_NAMES, ENCODER];

/** A row for each option that only step has. */
export const STEP = {
  lengths: APPEND.lengths,
  kvLayout: KV_LAYOUT,
} satisfies TableOf<StepOptions, Readonly<Record<"batchSize" | "numTokens", number>>>;

const STEP_NAMES = [...ATTEND_NAMES, ...namesIn(STEP)];

/**
 * Keys and values of past tokens. An instance's `kvCache` makes one.
 *
 * Every token has a position: the index at which it was appended to its batch. Causal masks, windows, ALiBi and rotary
 * embedding use positions, also in a ring that has dropped tokens. ALiBi and rotary embedding take `positions` of the
 * caller's own in place of them. Calls run one after another in the queue of the
 * instance. `length` and the other properties show a call's changes after the call has settled.
 *
 * A cache holds memory of the engine until it or its instance is disposed.
 */
export class KvCache extends Disposing {
  readonly #context: Context;
  readonly #cache: EngineCache;
  #disposed = false;

  /** @internal */
  constructor(context: Context, cache: EngineCache) {
    super();
    this.#context = context;
    this.#cache = cache;
  }

  get batchSize(): number {
    return this.#cache.form.batchSize;
  }

  get numKvHeads(): number {
    return this.#cache.form.numKvHeads;
  }

  /** Features of a key in one head. */
  get headDim(): number {
    return this.#cache.form.headDim;
  }

  /** Features of a value in one head. */
  get valueDim(): number {
    return this.#cache.form.valueDim;
  }

  /** The type in which the numbers are stored. */
  get dtype(): CacheDtype {
    return this.#cache.form.dtype;
  }

  /** The largest number of tokens in a batch; undefined: no limit. */
  get capacity(): number | undefined {
    return this.#cache.form.capacity;
  }

  /** The tokens that a ring keeps; undefined: all are kept. */
  get ring(): CompleteRing | undefined {
    return this.#cache.form.ring;
  }

  /** How many tokens the fullest batch holds. */
  get length(): number {
    return largestOf(this.lengths);
  }

  /** How many tokens each batch holds. */
  get lengths(): number[] {
    return this.#cache.appended.map((appended, b) => heldLength(this.#cache.form, appended, b));
  }

  /** For each batch: how many tokens were appended and not removed again. It is the position of the next token. */
  get appended(): number[] {
    return [...this.#cache.appended];
  }

  /** The engine in whose memory the cache lies. With backend `"auto"` it may move between two calls. */
  get placement(): Place {
    return this.#cache.placement;
  }

  /** Bytes of the cache's blocks. A block that forks or batches share counts in each of them. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /**
   * Appends tokens. The tokens already in the cache are not copied. If the call fails, nothing was appended.
   *
   * @param key - `[B, numKvHeads, S, headDim]` in `options.layout`; float32 or float16.
   * @param value - `[B, numKvHeads, S, valueDim]`.
   * @throws ShapeError if a shape does not fit the cache, or if the cache would exceed its capacity.
   * @throws OptionError or UnsupportedError before anything is appended; OutOfMemoryError; DisposedError.
   *
   * With the option `encoder` the call is recorded into that GPUCommandEncoder and not submitted. `length` and the other
   * properties change when the commands are recorded: calls that are recorded or made afterwards see the new tokens. So
   * submit the encoder before any other call uses the cache, and discard neither. Tensors in JavaScript are copied at once.
   * It gives an object whose `dispose()` gives the memory of the commands back; submit before. When the commands are
   * recorded, and which errors the promise has: as for `scaledDotProductAttention`.
   */
  async append<E extends EncoderChoice = undefined>(
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: AppendOptions & Recording<E> = {},
  ): Promise<RecordedOr<E, RecordedCommands, void>> {
    return (await this.#appended(key, value, options)) as RecordedOr<E, RecordedCommands, void>;
  }

  /**
   * Attention of queries to the tokens in the cache, without copying them. It is `scaledDotProductAttention` with the
   * cache as key and value: Skv is `length`, and `keyLengths` defaults to `lengths`. Query 0 is at position
   * queryOffset. Its default is tokens appended − query length: the queries belong to the tokens that were appended
   * last.
   *
   * After `append(…, { lengths })`, a call with as many query rows as that append had rows uses its lengths:
   * `queryLengths` defaults to `lengths` if `queryOffset` is absent and the call uses positions (causal
   * `"lower-right"`, window, alibiSlopes, excludeSelf, or a rotary cache). A cache that was rewound, sliced or loaded,
   * or has lost tokens by `keep` or `remove`, has no last append. A fork has the last append of its original.
   *
   * `patch` overwrites queries, weights or results of heads for this call. Keys and values cannot be overwritten.
   *
   * @param query - `[B, numHeads, Sq, headDim]` in `options.layout`; float32 or float16.
   * @returns `output` `[B, numHeads, Sq, valueDim]` in the layout, rank and dtype of the query, and the results that
   *   `options.returns` names. They may be queries, keys and values as attention sees them, and the results of heads.
   * @throws ShapeError, OptionError or UnsupportedError before it computes.
   * @throws EmptyRowError if a query row sees no key and `emptyRows` is `"throw"`; OutOfMemoryError; DisposedError.
   *
   * With the option `encoder` the call is recorded into that GPUCommandEncoder and not submitted, as a call of
   * `scaledDotProductAttention`. It sees all tokens whose append was made or recorded before.
   */
  async attend<
    const R extends AttendReturns | undefined = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = Q,
    const L extends LocationChoice = "cpu",
    E extends EncoderChoice = undefined,
  >(
    query: Q | GpuFloats,
    options: CallOptions<R, Into> & Recording<E> & { readonly location?: L } = {},
  ): Promise<
    RecordedOr<
      E,
      RecordedAttention<R, OrAbsent<Into, FloatTensor>> & ViewsAt<"gpu", R>,
      ResultAt<L, R, OrAbsent<Into, Q>> & ViewsAt<L, R>
    >
  > {
    return (await this.#attended(query, options)) as RecordedOr<
      E,
      RecordedAttention<R, OrAbsent<Into, FloatTensor>> & ViewsAt<"gpu", R>,
      ResultAt<L, R, OrAbsent<Into, Q>> & ViewsAt<L, R>
    >;
  }

  /**
   * One step of decoding: `append`, then `attend`, in one call. No other call runs between them. For more than one
   * token pass `causal: true`.
   *
   * A ring drops tokens only after the queries have seen them: the query at position p sees the first `keepFirst` tokens
   * and the `window` tokens up to its own, as if the tokens came one by one. The key axis of masks and results is then
   * what the ring held and the new tokens: up to keepFirst + window + S.
   *
   * If it fails, the cache is as before, unless it is a ring that has dropped a token for a single new one.
   *
   * @param query - `[B, numHeads, S, headDim]` in `options.layout`; float32 or float16.
   * @param key - `[B, numKvHeads, S, headDim]`.
   * @param value - `[B, numKvHeads, S, valueDim]`.
   * @param options - The options of `attend`; `lengths` of `append`; and `kvLayout`, the layout of key and value, by
   *   default `layout`.
   * @throws The errors of `append` and `attend`. All checks are done before anything is appended.
   */
  async step<
    const R extends AttendReturns | undefined = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats | undefined = Q,
    const L extends LocationChoice = "cpu",
  >(
    query: Q | GpuFloats,
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: CallOptions<R, Into> & StepOptions & { readonly location?: L } = {},
  ): Promise<ResultAt<L, R, OrAbsent<Into, Q>> & ViewsAt<L, R>> {
    const { form, onGpu } = this.#cache;
    const call = this.#arguments("cache.step", onGpu);
    call.changes = true;
    const given = readOptions(call, options, STEP_NAMES);
    const read = (reader: OptionReader, [q, k, v]: readonly unknown[]) => {
      const append = appendProblem(call, form, k, v, reader);
      const request = attendRequest(call, form, q, reader);
      const compute = async () => {
        const { appended } = this.#cache;
        const during = formWhileGaining(form, appended, append);
        const own = grownPositions(this.#cache, append, during);
        const gained = { appended: tokensAfter(appended, append), form: during, own };
        return this.#step(append, this.#problem(request, append, gained));
      };
      return { work: compute, signal: request.signal };
    };
    return (await this.#context.withFormulas(call, given, [query, key, value], read)) as ResultAt<
      L,
      R,
      OrAbsent<Into, Q>
    > &
      ViewsAt<L, R>;
  }

  /**
   * Removes the tokens at positions from `length` on, or from `length[b]` on in batch b. Afterwards the cache is as if
   * they had never been appended.
   *
   * @throws OptionError if `length` is above the number of tokens appended, or if a ring has dropped tokens that it
   *   would need at that length.
   * @throws ShapeError if a list does not have one length for each batch; DisposedError.
   */
  async rewind(length: number | NumberList): Promise<void> {
    const call = this.#arguments("cache.rewind");
    const lengthsOf = tokenCounts(call, "length", length);
    const rewind = async () => {
      const own = ownPositions(this.#cache);
      const lengths = lengthsOf(this.#cache.appended);
      await this.#cache.rewind(call.operation, lengths);
      forgetAppend(this.#cache);
      keepOwnPositions(this.#cache, own && rewoundPositions(own, this.#cache.form, lengths));
    };
    return this.#context.run(call, rewind);
  }

  /**
   * Reorders and repeats the batches, as beam search needs it: batch b then holds what batch `indices[b]` held, with its
   * number of tokens, its positions and the lengths of its last append. The numbers stay the same bits.
   *
   * WebAssembly copies no tokens: batches that hold the same share memory until one of them gains tokens. WebGPU copies
   * the tokens held into new memory, and frees the old.
   *
   * @param indices - `[B]`, integers from 0 to batchSize − 1. One may come more than once. The number of batches is fixed.
   * @throws ShapeError if there is not one index for each batch; OptionError if an index is no batch; OutOfMemoryError;
   *   DisposedError. The cache is then as before.
   */
  async select(indices: NumberList): Promise<void> {
    const call = this.#arguments("cache.select");
    const batches = selectedBatches(call, indices, this.batchSize);
    return this.#context.run(call, async () => {
      const [append, remember] = [lastAppend(this.#cache), beforeEdit(this.#cache)];
      await this.#cache.select(call.operation, batches);
      selectAppend(this.#cache, append, batches);
      remember(this.#cache, selecting(batches));
    });
  }

  /**
   * Keeps a branch of a tree of tokens: of the tokens at position `from` and later only the named rows stay, and move
   * to the positions from `from` on. The tokens before `from` stay where they are.
   *
   * In a rotary cache the keys that move are turned by the difference of their positions. Such a key is rounded once
   * more: to float32, which is off by less than 5 · 2⁻²⁴ of the length of each pair of features, and to the cache's
   * dtype. All other numbers stay the same bits. If `from` is 0, the angles of the batch stay instead: the first row
   * keeps its bits, and so do the rows that follow it without a gap.
   *
   * @param from - One position for all batches, or a list `[B]`. A batch that holds fewer tokens than the one position
   *   for all keeps them.
   * @param rows - Integers from 0 on, ascending: row i is the token at position from + i. One list for all batches, or a
   *   list for each batch. Empty: as `rewind(from)`.
   * @throws OptionError if `from` or a row is not held, if rows do not ascend, or if a ring has dropped tokens of a batch
   *   that loses some: it would need them again.
   * @throws ShapeError if there is not one list for each batch; OutOfMemoryError; DisposedError. The cache is then as
   *   before.
   */
  async keep(from: number | NumberList, rows: KeptRows): Promise<void> {
    const call = this.#arguments("cache.keep");
    return this.#keep(call, keptTokens(call, from, rows, this.batchSize));
  }

  /**
   * Removes the tokens at positions `from` to `to` − 1. The later ones move to the positions from `from` on, which
   * makes room in a full context ("context shift").
   *
   * What becomes of the keys of a rotary cache is said at `keep`: the later ones are turned back by to − from positions,
   * except where `from` is 0.
   *
   * @param from - One position for all batches, or a list `[B]`.
   * @param to - The same. A batch that holds fewer tokens than the one position for all loses those that it has.
   * @throws OptionError if a position is above the number of tokens held, if `from` is above `to`, or if a ring has
   *   dropped tokens of a batch that loses some: it would need them again.
   * @throws ShapeError if a list does not have one position for each batch; OutOfMemoryError; DisposedError. The cache is
   *   then as before.
   */
  async remove(from: number | NumberList, to: number | NumberList): Promise<void> {
    const call = this.#arguments("cache.remove");
    return this.#keep(call, tokensWithout(call, from, to));
  }

  /**
   * Makes a cache with the same content. The two share blocks. A shared block is copied when one of them writes to it.
   *
   * @throws OutOfMemoryError; DisposedError.
   */
  async fork(): Promise<KvCache> {
    const call = this.#arguments("cache.fork");
    const makeFork = async () => {
      const fork = await this.#cache.fork(call.operation);
      const append = lastAppend(this.#cache);
      if (append) noteAppend(fork, append);
      beforeEdit(this.#cache)(fork, COPIED);
      return cacheOver(this.#context, fork);
    };
    return this.#context.run(call, makeFork);
  }

  /**
   * Makes a cache of the same kind from the tokens `[from, to)` that this cache holds, in order of position. Their new
   * positions start at 0. A batch that holds fewer tokens gives those that it has.
   *
   * @param to - Default `length`.
   * @throws OptionError if the range is not within `length`; UnsupportedError if `ring.positions` is `"cache"` and the range
   *   has first tokens of the ring and later ones, between which it has dropped some; OutOfMemoryError; DisposedError.
   */
  async slice(from: number, to?: number): Promise<KvCache> {
    const call = this.#arguments("cache.slice");
    const rangeOf = tokenRange(call, from, to);
    const slice = async () => {
      const range = rangeOf(this.length);
      refuseSliceAcrossGap(call.operation, this.#cache, range);
      const remember = beforeEdit(this.#cache);
      const part = await this.#cache.slice(call.operation, ...range);
      remember(part, slicing(...range));
      return cacheOver(this.#context, part);
    };
    return this.#context.run(call, slice);
  }

  /**
   * Copies the keys and values of the tokens `[from, to)`, in order of position, as float32. The range is as in
   * `slice`. A rotary cache gives its keys turned, as it stores them.
   *
   * @param from - Default 0.
   * @param to - Default `length`.
   * @returns `key` `[B, numKvHeads, S, headDim]`, `value` `[B, numKvHeads, S, valueDim]`, and `positions` `[B, S]`. If
   *   a batch holds fewer tokens, its missing rows are 0 and their positions −1.
   * @throws OptionError if the range is not within `length`; OutOfMemoryError; DisposedError.
   */
  async read(from = 0, to?: number): Promise<CacheContent> {
    const call = this.#arguments("cache.read");
    const rangeOf = tokenRange(call, from, to);
    return this.#context.run(call, async () => {
      const [start, end] = rangeOf(this.length);
      return content(this.#cache, await this.#rows(call.operation, start, end), start, end);
    });
  }

  /**
   * Writes the cache to bytes, with a version and a checksum. `kvCache({ from })` makes the same cache of them, bit for
   * bit.
   *
   * @throws OutOfMemoryError; DisposedError.
   */
  async save(): Promise<Uint8Array> {
    const call = this.#arguments("cache.save");
    return this.#context.run(call, async () => {
      return withOwnPositions(await this.#cache.save(call.operation), this.#cache);
    });
  }

  /** Frees the memory after the calls made so far have run. A second call does nothing. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#context.release("cache.dispose", () => this.#cache.release());
  }

  /** @param tokensOf - Gives the tokens that stay, when it is the call's turn. */
  #keep(call: CallArguments, tokensOf: (cache: EngineCache) => KeptTokens): Promise<void> {
    return this.#context.run(call, async () => {
      const [tokens, remember] = [tokensOf(this.#cache), beforeEdit(this.#cache)];
      if (keepsAll(tokens, this.#cache.appended)) return;
      await this.#cache.keep(call.operation, tokens);
      forgetAppend(this.#cache);
      remember(this.#cache, keeping(tokens));
    });
  }

  async #append(problem: AppendProblem): Promise<void> {
    const own = grownPositions(this.#cache, problem);
    await noting(this.#cache, problem, own, () => this.#cache.append(problem));
  }

  async #attend(problem: AttendProblem): Promise<PlacedResult> {
    const result = await this.#cache.attend(problem);
    noteForMerge(result, problem.settings);
    return result;
  }

  async #step(append: AppendProblem, attend: AttendProblem): Promise<PlacedResult> {
    const own = grownPositions(this.#cache, append);
    const result = await noting(this.#cache, append, own, () => this.#cache.step(append, attend));
    noteForMerge(result, attend.settings);
    return result;
  }

  /** @internal */
  encodeAppend(): never {
    throw renamed("cache.encodeAppend", "the option encoder of cache.append");
  }

  /** @internal */
  encodeAttend(): never {
    throw renamed("cache.encodeAttend", "the option encoder of cache.attend");
  }

  #appended(key: unknown, value: unknown, options: object): Promise<unknown> {
    const call = this.#arguments("cache.append", this.#cache.onGpu);
    call.changes = true;
    const reader = readOptions(call, options, APPEND_OR_RECORD);
    const problem = appendProblem(call, this.#cache.form, key, value, reader);
    const encoder = encoderOf(reader);
    if (encoder === undefined) return this.#context.run(call, () => this.#append(problem), problem.signal);
    this.#assertRecords(call.operation);
    return this.#context.record(call, () => this.#recordAppend(encoder, problem), problem.signal);
  }

  #attended(query: unknown, options: object): Promise<unknown> {
    const { form, onGpu } = this.#cache;
    const call = this.#arguments("cache.attend", onGpu);
    const given = readOptions(call, options, ATTEND_OR_RECORD);
    return this.#context.withFormulas(call, given, [query] as const, (reader, [q]) => {
      const request = attendRequest(call, form, q, reader);
      const { signal } = request;
      const problem = () => this.#problem(request, lastAppend(this.#cache));
      const encoder = encoderOf(reader);
      if (encoder === undefined) return { work: () => this.#attend(problem()), signal };
      this.#assertRecords(call.operation);
      const record = () => this.#cache.recordAttend!(encoder, problem());
      return { work: () => record().results, record, signal };
    });
  }

  /**
   * A call of attend after this append.
   *
   * @param gained - Of a step: what the cache has after the append. A ring then shows each query what its token would see.
   */
  #problem(
    request: AttendRequest,
    append: Append | undefined,
    gained?: { readonly appended: readonly number[]; readonly form: CacheForm; readonly own: OwnPositions | undefined },
  ): AttendProblem {
    const { appended, form, own } = gained ?? {
      appended: this.#cache.appended,
      form: this.#cache.form,
      own: ownPositions(this.#cache),
    };
    const stands = form.rotary || (gained !== undefined && form.ring !== undefined);
    const settled = (settings: AttentionSettings) => withLengthsOf(append, settings, request.numQueries, stands);
    return request.at(appended, settled, form, own, originsOf(this.#cache));
  }

  #recordAppend(encoder: object, problem: AppendProblem): Recorded<Disposing> {
    const { appended } = this.#cache;
    const own = grownPositions(this.#cache, problem);
    const note = () => {
      if (this.#cache.appended !== appended) noteTokens(this.#cache, problem, own);
    };
    const { atOnce, results } = this.#cache.recordAppend!(encoder, problem);
    note();
    return {
      atOnce,
      results: results.then((recorded) => {
        if (!atOnce) note();
        return recorded;
      }),
    };
  }

  #assertRecords(operation: string): void {
    if (!this.#cache.recordAppend) throw recordsNothing(operation, "the cache lies in the memory of WebAssembly");
  }

  /** The numbers of some tokens in the cache. */
  async #rows(operation: string, from: number, to: number): Promise<CacheRows> {
    const isWhole = from === 0 && to === this.length;
    const source = isWhole ? this.#cache : await this.#cache.slice(operation, from, to);
    try {
      return readRows(await source.save(operation), source.form, source.appended, to - from);
    } finally {
      if (!isWhole) source.release();
    }
  }

  #arguments(operation: string, onGpu = false): CallArguments {
    const call = this.#context.arguments(operation, onGpu);
    call.needs(() => this.#assertAlive(operation));
    return call;
  }

  #assertAlive(operation: string): void {
    if (this.#disposed) throw new DisposedError(`${operation}: the cache was disposed`);
  }

  /**
   * @internal The engine's cache behind a KvCache, for other calls of the same instance, such as `layer.forward`.
   *
   * @throws OptionError if the value is no cache of this instance; DisposedError.
   */
  static in(engine: Context["engine"], operation: string, argument: string, value: unknown): EngineCache {
    if (typeof value !== "object" || value === null || !(#cache in value))
      throw new OptionError(`${operation}: ${argument} must be a cache made by kvCache, got ${describe(value)}`);
    value.#assertAlive(operation);
    if (value.#context.engine !== engine)
      throw new OptionError(`${operation}: ${argument} must be a cache of this instance, got one of another`);
    return value.#cache;
  }
}

/**
 * Stands outside the class because bundlers rename a class that refers to itself. Its objects would then show that
 * name.
 */
const cacheOver = (context: Context, cache: EngineCache) => new KvCache(context, cache);
