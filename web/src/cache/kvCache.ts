import type { AttentionResult, NoReturns, ResultAt } from "../attention/attentionResult.js";
import { noteForMerge } from "../attention/mergeNotes.js";
import type { Returns } from "../attention/returns.js";
import type { CallArguments } from "../call/callArguments.js";
import type { Context } from "../call/context.js";
import { Disposing } from "../call/disposable.js";
import { namesOf, readOptions, type NumberList } from "../call/options.js";
import { DisposedError, OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { GpuFloats, OnGpu } from "../tensor/gpuTensor.js";
import { largestOf } from "../tensor/largest.js";
import type { Layout } from "../tensor/layout.js";
import type { FloatTensor, FloatTensorLike } from "../tensor/tensor.js";
import { APPEND_NAMES, appendProblem, type AppendOptions, type AppendProblem } from "./appendProblem.js";
import { ATTEND_NAMES, attendRequest, type AttendOptions, type AttendProblem } from "./attendProblem.js";
import { content, type CacheContent } from "./cacheContent.js";
import { heldLength, lengthAfter, type CacheDtype, type Ring } from "./cacheProblem.js";
import type { EngineCache } from "./engineCache.js";
import { forgetAppend, lastAppend, noteAppend, withLengthsOf } from "./lastAppend.js";
import { readRows, type CacheRows } from "./savedRows.js";
import { rewindLengths, tokenRange } from "./tokenRange.js";

/** Options of a call of attend: `R` is what it returns, `Into` the tensor that it writes to. */
type CallOptions<R, Into> = OnGpu<Omit<AttendOptions, "returns" | "into" | "location">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/** Options of `step`: those of `attend`, and of `append` what `attend` does not have. */
interface StepOptions extends Pick<AppendOptions, "lengths"> {
  /** Memory order of key and value. Default `layout`. */
  readonly kvLayout?: Layout;
}

const STEP_NAMES = [...ATTEND_NAMES, ...namesOf<StepOptions>({ lengths: true, kvLayout: true })];

/**
 * Keys and values of past tokens; `kvCache` and `loadCache` of an instance make one.
 *
 * Every token is known by its position: the absolute index at which it was appended to its batch. Causality, windows,
 * ALiBi and rotary embeddings go by that, also in a ring that has dropped tokens. Calls take their turn in the
 * instance's queue; what they change shows in `length` and its like when they have settled.
 *
 * It holds memory of the engine until `dispose()`, at the latest until the instance is disposed.
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

  get headDim(): number {
    return this.#cache.form.headDim;
  }

  get valueDim(): number {
    return this.#cache.form.valueDim;
  }

  get dtype(): CacheDtype {
    return this.#cache.form.dtype;
  }

  /** undefined: without bound. */
  get capacity(): number | undefined {
    return this.#cache.form.capacity;
  }

  get ring(): Required<Ring> | undefined {
    return this.#cache.form.ring;
  }

  /** Tokens held, in the batch that holds most. */
  get length(): number {
    return largestOf(this.lengths);
  }

  /** Tokens held, by batch. */
  get lengths(): number[] {
    return this.#cache.appended.map((appended) => heldLength(this.#cache.form, appended));
  }

  /** Tokens ever appended and not rewound, by batch: the position of the next token. */
  get appended(): number[] {
    return [...this.#cache.appended];
  }

  /** Bytes of the blocks held. Blocks shared with a fork count in both. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /**
   * Appends tokens. Copies them only: the cache itself stays where it is. All or nothing.
   *
   * @param key - `[B, numKvHeads, S, headDim]` in `options.layout`; float32 or float16.
   * @param value - `[B, numKvHeads, S, valueDim]`.
   * @throws ShapeError if shapes do not fit the cache or its capacity is exceeded; OutOfMemoryError; DisposedError.
   */
  async append(
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: AppendOptions = {},
  ): Promise<void> {
    const call = this.#arguments("cache.append", this.#cache.onGpu);
    const problem = appendProblem(call, this.#cache.form, key, value, readOptions(call, options, APPEND_NAMES));
    return this.#context.run(call, () => this.#append(problem), problem.signal);
  }

  /**
   * Attention of queries to the tokens held, read where they are. `scaledDotProductAttention` with the cache as key and
   * value: Skv is `length`, `keyLengths` defaults to `lengths`. Query 0 stands at queryOffset, by default at tokens
   * appended − query length: the queries of the tokens appended last.
   *
   * After `append(…, { lengths })` that takes as many query rows as were appended for the queries of those tokens:
   * `queryLengths` defaults to `lengths`, where the call asks for positions (causal `"lower-right"`, window, alibiSlopes,
   * excludeSelf, or a rotary cache) and `queryOffset` is absent. A cache that was rewound, sliced or loaded has no last
   * append; a fork has that of its original.
   *
   * @param query - `[B, numHeads, Sq, headDim]` in `options.layout`; float32 or float16.
   */
  async attend<
    const R extends Returns = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats = Q,
    const L extends "cpu" | "gpu" = "cpu",
  >(
    query: Q | GpuFloats,
    options: CallOptions<R, Into> & { readonly location?: L } = {},
  ): Promise<ResultAt<L, R, Into>> {
    const { form, onGpu } = this.#cache;
    const call = this.#arguments("cache.attend", onGpu);
    const request = attendRequest(call, form, query, readOptions(call, options, ATTEND_NAMES));
    const compute = () => this.#attend(request.at(this.length));
    return (await this.#context.run<unknown>(call, compute, request.signal)) as ResultAt<L, R, Into>;
  }

  /**
   * One step of decoding: appends tokens, then attends to all that the cache holds with their queries. As `append` and
   * `attend` in one call, between which no other call runs; pass `causal: true` for more than one token.
   *
   * If it fails the cache is as before, unless it is a ring that has dropped tokens for the new ones.
   *
   * @param query - `[B, numHeads, S, headDim]` in `options.layout`; float32 or float16.
   * @param key - `[B, numKvHeads, S, headDim]`.
   * @param value - `[B, numKvHeads, S, valueDim]`.
   * @param options - Those of `attend`, `lengths` of `append`, and `kvLayout`: the layout of key and value, by default
   *   `layout`.
   * @throws What `append` and `attend` throw; everything is checked before anything is appended.
   */
  async step<
    const R extends Returns = NoReturns,
    Q extends FloatTensorLike = FloatTensor,
    Into extends FloatTensorLike | GpuFloats = Q,
    const L extends "cpu" | "gpu" = "cpu",
  >(
    query: Q | GpuFloats,
    key: FloatTensorLike | GpuFloats,
    value: FloatTensorLike | GpuFloats,
    options: CallOptions<R, Into> & StepOptions & { readonly location?: L } = {},
  ): Promise<ResultAt<L, R, Into>> {
    const { form, onGpu } = this.#cache;
    const call = this.#arguments("cache.step", onGpu);
    const reader = readOptions(call, options, STEP_NAMES);
    const append = appendProblem(call, form, key, value, reader);
    const request = attendRequest(call, form, query, reader);
    const compute = async () => {
      const problem = request.at(lengthAfter(this.#cache, append.lengths ?? append.numTokens));
      const before = Int32Array.from(this.#cache.appended);
      await this.#append(append);
      try {
        return await this.#attend(problem);
      } catch (error) {
        await this.#undo(call.operation, before);
        throw error;
      }
    };
    return (await this.#context.run<unknown>(call, compute, request.signal)) as ResultAt<L, R, Into>;
  }

  /**
   * Forgets the tokens at positions from `length` on, or from `length[b]` on in batch b. What follows is as if they had
   * never been appended.
   *
   * @throws OptionError if more tokens are to stay than were appended, or if a ring has dropped tokens that it would hold
   *   at that length.
   */
  async rewind(length: number | NumberList): Promise<void> {
    const call = this.#arguments("cache.rewind");
    const lengthsOf = rewindLengths(call, length);
    const rewind = async () => {
      await this.#cache.rewind(call.operation, lengthsOf(this.#cache.appended));
      forgetAppend(this.#cache);
    };
    return this.#context.run(call, rewind);
  }

  /** A cache with the same content. The two share blocks until either writes to one. */
  async fork(): Promise<KvCache> {
    const call = this.#arguments("cache.fork");
    const makeFork = async () => {
      const fork = await this.#cache.fork(call.operation);
      const append = lastAppend(this.#cache);
      if (append) noteAppend(fork, append);
      return cacheOver(this.#context, fork);
    };
    return this.#context.run(call, makeFork);
  }

  /**
   * A new cache of the same kind that holds the tokens `[from, to)` of those held, in order of position, renumbered from
   * position 0. Of a batch that holds fewer, what it has of them. `to` is by default `length`.
   */
  async slice(from: number, to?: number): Promise<KvCache> {
    const call = this.#arguments("cache.slice");
    const rangeOf = tokenRange(call, from, to);
    const slice = async () =>
      cacheOver(this.#context, await this.#cache.slice(call.operation, ...rangeOf(this.length)));
    return this.#context.run(call, slice);
  }

  /**
   * Copies of the keys and values held, in order of position: the tokens `[from, to)` of those held, as `slice` takes them.
   * float16 and int8 are converted to float32. In a rotary cache the keys are as they were stored, turned.
   *
   * @param from - Default 0.
   * @param to - Default `length`.
   * @returns `key` `[B, numKvHeads, S, headDim]`, `value` `[B, numKvHeads, S, valueDim]`, and `positions` `[B, S]`: where
   *   each token stands, −1 and rows of 0 where a batch holds fewer tokens.
   */
  async read(from = 0, to?: number): Promise<CacheContent> {
    const call = this.#arguments("cache.read");
    const rangeOf = tokenRange(call, from, to);
    return this.#context.run(call, async () => {
      const [start, end] = rangeOf(this.length);
      return content(this.#cache, await this.#rows(call.operation, start, end), start, end);
    });
  }

  /** The cache as bytes, versioned and checked by a checksum: `loadCache` gives the same cache again, bit for bit. */
  async save(): Promise<Uint8Array> {
    const call = this.#arguments("cache.save");
    return this.#context.run(call, () => this.#cache.save(call.operation));
  }

  /** Gives the memory back once the calls made so far have run. A second call does nothing. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#context.release("cache.dispose", () => this.#cache.release());
  }

  async #append(problem: AppendProblem): Promise<void> {
    await this.#cache.append(problem);
    noteAppend(this.#cache, problem);
  }

  async #attend(problem: AttendProblem): Promise<AttentionResult> {
    const { queryLength } = problem.shape;
    const { rotary } = this.#cache.form;
    const settings = withLengthsOf(lastAppend(this.#cache), problem.settings, queryLength, rotary);
    const result = await this.#cache.attend({ ...problem, settings });
    noteForMerge(result, settings);
    return result;
  }

  /** Takes tokens back that were appended for a call that failed. A ring that has dropped tokens cannot. */
  async #undo(operation: string, before: Int32Array): Promise<void> {
    forgetAppend(this.#cache);
    try {
      await this.#cache.rewind(operation, before);
    } catch {
      // the error of the call itself is the one to tell
    }
  }

  /** The numbers of some of the tokens held. */
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
    this.#assertAlive(operation);
    return call;
  }

  #assertAlive(operation: string): void {
    if (this.#disposed) throw new DisposedError(`${operation}: the cache was disposed`);
  }

  /**
   * @internal What other calls of the instance whose engine this is read and write, such as a layer's.
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

/** Outside of the class: bundlers rename a class that names itself, and its objects would show that name. */
const cacheOver = (context: Context, cache: EngineCache) => new KvCache(context, cache);
