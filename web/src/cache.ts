import type { Context } from "./context.js";
import type { CallArguments } from "./callArguments.js";
import {
  checkKeys,
  readReturns,
  readSettings,
  SETTINGS_NAMES,
  type AttentionSettings,
  type AttentionSettingsOptions,
  type AttentionShape,
  type Returns,
  type Wanted,
} from "./attentionOptions.js";
import { outputForm, refuseGpu, type CheckedFloats, type FloatTensor, type OutputForm } from "./attentionProblem.js";
import type { Backend, BackendCache, NoReturns, ResultAt } from "./backend.js";
import { describe } from "./describe.js";
import { Disposing } from "./disposable.js";
import { DisposedError, OptionError, ShapeError } from "./errors.js";
import {
  axisName,
  headsShape,
  keepRank,
  LAYOUTS,
  packsHeads,
  shapeOf,
  type HeadsShape,
  type Layout,
} from "./layout.js";
import type { GpuFloats, OnGpu } from "./gpuData.js";
import { forgetAppend, lastAppend, noteAppend, withLengthsOf } from "./lastAppend.js";
import { noteForMerge } from "./merge.js";
import { argument, namesOf, readOptions, type NumberList, type OptionReader } from "./options.js";
import { ANGLE_NAMES, readAngles, type CheckedAngles, type RotaryAngles } from "./rotary.js";

/** What a cache stores: float32, float16, or int8 with one scale per token, head and side. */
export type CacheDtype = "float32" | "float16" | "int8";

/** The tokens that a ring keeps: the first `keepFirst` (default 0) and the last `window`. */
export interface Ring {
  readonly keepFirst?: number;
  readonly window: number;
}

/** Options of `kvCache`. */
export interface KvCacheOptions {
  /** Default 1. */
  readonly batchSize?: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Default headDim. */
  readonly valueDim?: number;
  /** Default `"float32"`. `"float16"` halves the bytes, `"int8"` takes about a quarter. */
  readonly dtype?: CacheDtype;
  /** Largest number of tokens a batch may hold; default: grows block by block without bound. */
  readonly capacity?: number;
  /** Drops the oldest tokens but the first few (Xiao et al. 2023), so that the size stays fixed. */
  readonly ring?: Ring;
  /** Turns keys as they are appended, and queries in `attend`, by their absolute positions. Default: as given. */
  readonly rotary?: RotaryAngles;
}

/** Options of `KvCache.append`. */
export interface AppendOptions {
  /** Memory order of key and value. Default `"BHSD"`. */
  readonly layout?: Layout;
  /** That of the cache, for callers who say it with every tensor. */
  readonly numKvHeads?: number;
  /** `[B]`: how many leading tokens of each batch to append. Default: all. */
  readonly lengths?: NumberList;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/** Options of `KvCache.attend`: those of `scaledDotProductAttention` that go with a cache. */
export interface AttendOptions extends AttentionSettingsOptions {
  /** Memory order of query and output. Default `"BHSD"`. */
  readonly layout?: Layout;
  /** Number of query heads. Default: what the shape says, its width divided by headDim where heads are packed. */
  readonly numHeads?: number;
  /** That of the cache, for callers who say it with every tensor. */
  readonly numKvHeads?: number;
  readonly returns?: Returns;
  /** Where results are put. `"gpu"` needs a cache of the WebGPU backend. Default `"cpu"`. */
  readonly location?: "cpu" | "gpu";
  /** A tensor of the output's shape to write the output to; it is then `result.output`. */
  readonly into?: FloatTensor;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal;
}

/** Options of a call of attend: `R` is what it returns, `Into` the tensor that it writes to. */
type CallOptions<R, Into> = OnGpu<Omit<AttendOptions, "returns" | "into" | "location">> & {
  readonly returns?: R;
  readonly into?: Into;
};

/** What a cache is, for as long as it lives. */
export interface CacheForm {
  readonly batchSize: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly dtype: CacheDtype;
  readonly capacity: number | undefined;
  readonly ring: Required<Ring> | undefined;
  /** Whether it turns keys and queries. */
  readonly rotary: boolean;
}

/** A call of kvCache that passed every check. */
export interface CacheProblem extends Omit<CacheForm, "rotary"> {
  readonly operation: string;
  readonly rotary: CheckedAngles | undefined;
}

/** A call of append that passed every check. */
export interface AppendProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly numTokens: number;
  readonly key: CheckedFloats;
  readonly value: CheckedFloats;
  readonly lengths: Int32Array | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A call of attend that passed every check. */
export interface AttendProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly shape: AttentionShape;
  readonly query: CheckedFloats;
  readonly settings: AttentionSettings;
  readonly wanted: Wanted;
  readonly output: OutputForm;
  /** Where results are put. */
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
  readonly keepRank: (shape: readonly number[]) => number[];
}

const FLOATS = ["float32", "float16"] as const;
const DTYPES = ["float32", "float16", "int8"] as const;

/** How many of `appended` tokens a cache of this form holds. */
export function heldLength({ ring }: Pick<CacheForm, "ring">, appended: number): number {
  return ring ? Math.min(appended, ring.keepFirst + ring.window) : appended;
}

const CACHE_NAMES = namesOf<KvCacheOptions>({
  batchSize: true,
  numKvHeads: true,
  headDim: true,
  valueDim: true,
  dtype: true,
  capacity: true,
  ring: true,
  rotary: true,
});

/** Reads and checks a whole call of kvCache. */
export function cacheProblem(call: CallArguments, given: unknown): CacheProblem {
  const { operation } = call;
  const options = readOptions(call, given, CACHE_NAMES);
  const headDim = options.requiredInteger("headDim", { min: 1 });
  const ring = readRing(options);
  const capacity = options.integer("capacity", { min: 1 });
  const held = ring ? ring.keepFirst + ring.window : 0;
  if (capacity !== undefined && capacity < held)
    throw new OptionError(
      `${operation}: capacity must be at least ring.keepFirst + ring.window = ${held}, got ${capacity}`,
    );
  return {
    operation,
    batchSize: options.integer("batchSize", { min: 0 }) ?? 1,
    numKvHeads: options.requiredInteger("numKvHeads", { min: 1 }),
    headDim,
    valueDim: options.integer("valueDim", { min: 1 }) ?? headDim,
    dtype: options.oneOf("dtype", DTYPES, "float32"),
    capacity,
    ring,
    rotary: readRotary(options, headDim),
  };
}

function readRing(options: OptionReader): Required<Ring> | undefined {
  const ring = options.object("ring", namesOf<Ring>({ keepFirst: true, window: true }));
  if (!ring) return undefined;
  return { keepFirst: ring.integer("keepFirst", { min: 0 }) ?? 0, window: ring.requiredInteger("window", { min: 1 }) };
}

function readRotary(options: OptionReader, headDim: number): CheckedAngles | undefined {
  const rotary = options.object("rotary", ANGLE_NAMES);
  const angles = rotary && readAngles(rotary, headDim);
  if (angles?.scaling?.kind === "dynamic-ntk" && angles.scaling.sequenceLength === undefined)
    throw new OptionError(
      `${options.operation}: rotary.scaling.sequenceLength must be given: keys that were turned stay as they are`,
    );
  return angles;
}

/** The cache knows its number of heads: an option that differs is a mistake. */
function checkKvHeads(options: OptionReader, { numKvHeads }: CacheForm): void {
  if ((options.integer("numKvHeads") ?? numKvHeads) !== numKvHeads)
    throw options.refuse("numKvHeads", `be that of the cache, ${numKvHeads}`);
}

const APPEND_NAMES = namesOf<AppendOptions>({ layout: true, numKvHeads: true, lengths: true, signal: true });

/** Reads and checks a whole call of append. */
export function appendProblem(
  call: CallArguments,
  form: CacheForm,
  givenKey: unknown,
  givenValue: unknown,
  given: unknown,
): AppendProblem {
  const { operation } = call;
  const options = readOptions(call, given, APPEND_NAMES);
  checkKvHeads(options, form);
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const key = call.tensor("key", givenKey, FLOATS);
  const value = call.tensor("value", givenValue, FLOATS);
  const read = (name: string, { shape }: CheckedFloats, headDim: number) => {
    const heads = headsShape(operation, name, shape, layout, form.numKvHeads, "numKvHeads");
    const fits = (extent: keyof HeadsShape, cached: string, expected: number) => {
      if (heads[extent] === expected) return;
      const axis = axisName(name, layout, shape.length, extent);
      throw new ShapeError(
        `${operation}: ${axis} (${extent}) must equal the cache's ${cached}, got ${heads[extent]} and ${expected}`,
      );
    };
    fits("batchSize", "batchSize", form.batchSize);
    fits("headDim", name === "key" ? "headDim" : "valueDim", headDim);
    return heads.length;
  };
  const numTokens = read("key", key, form.headDim);
  const numValues = read("value", value, form.valueDim);
  if (numValues !== numTokens)
    throw new ShapeError(
      `${operation}: ${axisName("value", layout, value.shape.length, "length")} (length) must equal ` +
        `${axisName("key", layout, key.shape.length, "length")}, got ${numValues} and ${numTokens}`,
    );
  const lengths = options.integers("lengths", { min: 0, max: numTokens }, form.batchSize);
  return { operation, layout, numTokens, key, value, lengths, signal: options.signal() };
}

const ATTEND_NAMES = [
  ...SETTINGS_NAMES,
  ...namesOf<Omit<AttendOptions, keyof AttentionSettingsOptions>>({
    layout: true,
    numHeads: true,
    numKvHeads: true,
    returns: true,
    location: true,
    into: true,
    signal: true,
  }),
];

/** A call of attend that has been read, and waits for its turn. */
export interface AttendRequest {
  readonly signal: AbortSignal | undefined;
  /** Checks the rest, now that it is known how many tokens the cache holds. */
  at(keyLength: number): AttendProblem;
}

/** Reads and checks a call of attend, as far as that does not depend on what the cache holds. */
export function attendRequest(
  call: CallArguments,
  form: CacheForm,
  givenQuery: unknown,
  given: unknown,
): AttendRequest {
  const { operation } = call;
  const options = readOptions(call, given, ATTEND_NAMES);
  const layout = options.oneOf("layout", LAYOUTS, "BHSD");
  const query = call.tensor("query", givenQuery, FLOATS);
  const rank = query.shape.length;
  checkKvHeads(options, form);
  const heads = queryHeads(options, layout, query, form);
  if (!call.placement.onGpu) refuseGpu(options);
  const extents: Omit<AttentionShape, "keyLength"> = {
    batchSize: heads.batchSize,
    numHeads: heads.numHeads,
    numKvHeads: form.numKvHeads,
    queryLength: heads.length,
    headDim: heads.headDim,
    valueDim: form.valueDim,
  };
  const read = {
    operation,
    layout,
    query,
    settings: readSettings(options, extents),
    wanted: readReturns(options, extents),
    output: outputForm(options, shapeOf(layout, rank, { ...heads, headDim: form.valueDim }), query),
    location: options.oneOf("location", ["cpu", "gpu"], "cpu"),
    signal: options.signal(),
    keepRank: (full: readonly number[]) => keepRank(layout, rank, full),
  };
  return {
    signal: read.signal,
    at(keyLength) {
      const shape: AttentionShape = { ...extents, keyLength };
      checkKeys(operation, read.settings, shape);
      return { ...read, shape };
    },
  };
}

function queryHeads(options: OptionReader, layout: Layout, { shape }: CheckedFloats, form: CacheForm): HeadsShape {
  const { operation } = options;
  const packed = packsHeads(layout, shape.length);
  const width = packed ? shape[layout === "BSE" ? shape.length - 1 : shape.length - 2]! : 0;
  const implied = packed && width % form.headDim === 0 ? width / form.headDim : undefined;
  const numHeads = options.integer("numHeads", { min: 1 }) ?? implied;
  const heads = headsShape(operation, "query", shape, layout, numHeads, "numHeads");
  const axis = (extent: keyof HeadsShape) => axisName("query", layout, shape.length, extent);
  for (const extent of ["batchSize", "headDim"] as const)
    if (heads[extent] !== form[extent])
      throw new ShapeError(
        `${operation}: ${axis(extent)} (${extent}) must equal the cache's, got ${heads[extent]} and ${form[extent]}`,
      );
  if (heads.numHeads % form.numKvHeads !== 0)
    throw new ShapeError(
      `${operation}: the cache's numKvHeads must divide ${axis("numHeads")} (numHeads), ` +
        `got ${form.numKvHeads} and ${heads.numHeads}`,
    );
  return heads;
}

/** Reads the length to rewind to; what it returns makes one for every batch, none above what was appended. */
function rewindLengths(call: CallArguments, given: unknown): (appended: readonly number[]) => Int32Array {
  const { operation } = call;
  const reader = argument(call, "length", given);
  if (given === undefined || typeof given === "number") {
    const length = reader.requiredInteger("length", { min: 0 });
    return (appended) => {
      const longest = longestOf(appended);
      if (length > longest) throw reader.refuse("length", `be an integer from 0 to ${longest}`);
      return new Int32Array(appended.length).fill(length);
    };
  }
  const lengths = reader.integers("length", { min: 0 })!;
  return (appended) => {
    if (lengths.length !== appended.length)
      throw new ShapeError(`${operation}: length must have length ${appended.length}, got ${lengths.length}`);
    const outside = lengths.findIndex((length, b) => length > appended[b]!);
    if (outside >= 0)
      throw new OptionError(
        `${operation}: length[${outside}] must be at most the tokens appended, ` +
          `got ${lengths[outside]} and ${appended[outside]}`,
      );
    return lengths;
  };
}

/** Reads a range of tokens; what it returns checks it against the number of those held. */
function sliceRange(call: CallArguments, givenFrom: unknown, givenTo: unknown): (held: number) => [number, number] {
  const from = argument(call, "from", givenFrom);
  const to = argument(call, "to", givenTo);
  const start = from.requiredInteger("from", { min: 0 });
  const end = to.integer("to", { min: 0 });
  return (held) => {
    if (start > held) throw from.refuse("from", `be an integer from 0 to ${held}`);
    if (end !== undefined && (end < start || end > held))
      throw to.refuse("to", `be an integer from ${start} to ${held}`);
    return [start, end ?? held];
  };
}

function longestOf(lengths: readonly number[]): number {
  return lengths.reduce((longest, length) => Math.max(longest, length), 0);
}

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
  readonly #cache: BackendCache;
  #disposed = false;

  /** @internal */
  constructor(context: Context, cache: BackendCache) {
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
    return longestOf(this.lengths);
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
    key: FloatTensor | GpuFloats,
    value: FloatTensor | GpuFloats,
    options: AppendOptions = {},
  ): Promise<void> {
    const call = this.#arguments("cache.append", this.#cache.onGpu);
    const problem = appendProblem(call, this.#cache.form, key, value, options);
    const append = async () => {
      await this.#cache.append(problem);
      noteAppend(this.#cache, problem);
    };
    return this.#context.run(call, append, problem.signal);
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
    Q extends FloatTensor = FloatTensor,
    Into extends FloatTensor | GpuFloats = Q,
    const L extends "cpu" | "gpu" = "cpu",
  >(
    query: Q | GpuFloats,
    options: CallOptions<R, Into> & { readonly location?: L } = {},
  ): Promise<ResultAt<L, R, Into>> {
    const { form, onGpu } = this.#cache;
    const call = this.#arguments("cache.attend", onGpu);
    const request = attendRequest(call, form, query, options);
    const compute = async () => {
      const problem = request.at(this.length);
      const { queryLength } = problem.shape;
      const settings = withLengthsOf(lastAppend(this.#cache), problem.settings, queryLength, form.rotary);
      const result = await this.#cache.attend({ ...problem, settings });
      noteForMerge(result, settings);
      return result;
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
    const rangeOf = sliceRange(call, from, to);
    const slice = async () =>
      cacheOver(this.#context, await this.#cache.slice(call.operation, ...rangeOf(this.length)));
    return this.#context.run(call, slice);
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

  #arguments(operation: string, onGpu = false): CallArguments {
    const call = this.#context.arguments(operation, onGpu);
    this.#assertAlive(operation);
    return call;
  }

  #assertAlive(operation: string): void {
    if (this.#disposed) throw new DisposedError(`${operation}: the cache was disposed`);
  }

  /**
   * @internal What other calls of the instance whose backend this is read and write, such as a layer's.
   */
  static in(backend: Backend, operation: string, argument: string, value: unknown): BackendCache {
    if (typeof value !== "object" || value === null || !(#cache in value))
      throw new OptionError(`${operation}: ${argument} must be a cache made by kvCache, got ${describe(value)}`);
    value.#assertAlive(operation);
    if (value.#context.backend !== backend)
      throw new OptionError(`${operation}: ${argument} must be a cache of this instance, got one of another`);
    return value.#cache;
  }
}

/** Outside of the class: bundlers rename a class that names itself, and its objects would show that name. */
const cacheOver = (context: Context, cache: BackendCache) => new KvCache(context, cache);
