import { OptionError, UnsupportedError } from "../base/errors.js";
import { followsLength } from "../position/checkedAngles.js";
import { ANGLE_OTHERS } from "../position/otherNames.js";
import { ANGLE_NAMES, readAngles, type CheckedAngles, type RotaryAngles } from "../position/rotaryAngles.js";
import type { CallArguments } from "../read/callArguments.js";
import { readOptions, type OptionReader } from "../read/options.js";
import { integer, object, oneOf, otherwise, own, required, signal } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import { PLACE_CHOICES, type PlaceChoice } from "../tensor/place.js";
import { MOST_CACHE_BATCHES } from "./cacheBatches.js";
import { CACHE_DTYPES, type CacheDtype } from "./cacheDtype.js";
import { CACHE_OTHERS } from "./otherNames.js";

/** Where the positions of a ring are counted: in the text, or in the cache. */
export type RingPositions = "text" | "cache";

/** A ring keeps the first `keepFirst` tokens and the last `window` tokens of each batch. */
export interface Ring {
  /** Default 0. */
  readonly keepFirst?: number | undefined;
  readonly window: number;
  /**
   * What rotary embedding and `alibiSlopes` count as positions. `"text"`, the default: where a token was appended.
   * `"cache"`: its place among the tokens that the ring holds, as in StreamingLLM (Xiao et al. 2023). No key is then
   * farther from a query than `keepFirst + window − 1`. Masks, windows and formulas go on by index in the text.
   * `"cache"` does not go with tables of cos and sin.
   */
  readonly positions?: RingPositions | undefined;
}

/** A ring with its defaults. */
export interface CompleteRing extends Ring {
  readonly keepFirst: number;
  readonly positions: RingPositions;
}

/** A ring as it is held. */
export interface HeldRing extends CompleteRing {
  /**
   * Of a ring that is longer during one call: the query at position p sees the first `keepFirst` tokens and the `sight`
   * tokens up to p.
   */
  readonly sight?: number | undefined;
  /** Of such a ring: how many tokens of each batch were dropped before. It drops none itself. */
  readonly dropped?: readonly number[] | undefined;
}

/** Options of `kvCache`. */
export interface KvCacheOptions {
  /** At most 1,048,576. Default 1. */
  readonly batchSize?: number | undefined;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Default headDim. */
  readonly valueDim?: number | undefined;
  /** Default `"float32"`. `"float16"` needs half the bytes, `"int8"` about a quarter. */
  readonly dtype?: CacheDtype | undefined;
  /** The largest number of tokens that a batch may hold. Default: no limit; the cache grows block by block. */
  readonly capacity?: number | undefined;
  /**
   * Drops the oldest tokens, except the first few, so that the size stays fixed (Xiao et al. 2023). Default: keeps all.
   */
  readonly ring?: Ring | undefined;
  /**
   * Rotary embedding: turns keys when they are appended, and queries in `attend`, by their absolute positions. Default:
   * no rotation.
   */
  readonly rotary?: RotaryAngles | undefined;
  /**
   * The engine in whose memory the cache lies. `"auto"`, the default: where its calls are predicted to be fastest; it may
   * move. Only instances of backend `"auto"` have two engines.
   */
  readonly placement?: PlaceChoice | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** The properties of a cache that never change. */
export interface CacheForm {
  readonly batchSize: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly valueDim: number;
  readonly dtype: CacheDtype;
  readonly capacity: number | undefined;
  readonly ring: HeldRing | undefined;
  /** Whether the cache turns keys and queries. */
  readonly rotary: boolean;
  /** Whether it turns them by sections. */
  readonly sections?: boolean | undefined;
}

/** A call of kvCache that has passed every check. */
export interface CacheProblem extends Omit<CacheForm, "rotary" | "sections"> {
  readonly operation: string;
  readonly rotary: CheckedAngles | undefined;
  /** Default `"auto"`. */
  readonly placement?: PlaceChoice;
  readonly signal?: AbortSignal | undefined;
}

const extent = required(integer({ min: 1 }));

/** A row for each option of a ring. */
export const RING = {
  keepFirst: otherwise(integer({ min: 0 }), 0),
  window: extent,
  positions: oneOf(["text", "cache"]),
} satisfies TableOf<Ring>;

/** A row for each option of a cache. */
export const CACHE = {
  batchSize: otherwise(integer({ min: 0, max: MOST_CACHE_BATCHES }), 1),
  numKvHeads: extent,
  headDim: extent,
  valueDim: integer({ min: 1 }),
  dtype: oneOf(CACHE_DTYPES),
  capacity: integer({ min: 1 }),
  ring: object(RING),
  rotary: own(undefined, readRotary),
  placement: oneOf(PLACE_CHOICES),
  signal: signal(),
} satisfies TableOf<KvCacheOptions>;

/** The properties that a layer decides for its caches. */
export type LayerCacheForm = Pick<CacheForm, "numKvHeads" | "headDim" | "valueDim">;

const { numKvHeads, headDim, valueDim, ...ofLayer } = CACHE;

/** A row for each option of a cache of a layer. */
export const LAYER_CACHE = ofLayer;

/** Reads the options of a cache of a layer and does all checks. The layer gives the extents. */
export function layerCacheProblem(
  call: CallArguments,
  layer: LayerCacheForm,
  given: unknown,
  turns: CheckedAngles | undefined,
): CacheProblem {
  const problem = cacheProblem(
    readOptions(call, given, namesIn(LAYER_CACHE), "", "option", CACHE_OTHERS).withDefaults({ ...layer }),
    turns?.tables,
  );
  if (!turns) return problem;
  if (problem.rotary) throw new OptionError("layer.kvCache: rotary must be absent: the layer has its own");
  return problem.ring?.positions === "cache" ? { ...problem, rotary: turns } : problem;
}

/** Reads a call of kvCache and does all checks. `layerTables` are those by which a layer turns. */
export function cacheProblem(options: OptionReader, layerTables?: CheckedAngles["tables"]): CacheProblem {
  const { operation } = options;
  const cache = readTable(options, CACHE);
  const { rotary, ring, capacity, valueDim = cache.headDim } = cache;
  if (ring?.positions === "cache" && (layerTables ?? rotary?.tables))
    throw new UnsupportedError(`${operation}: ring.positions "cache" does not go with tables of cos and sin`, {
      hint: "Give `base` and `scaling`, or `frequencies`.",
    });
  const held = ring ? ring.keepFirst + ring.window : 0;
  if (capacity !== undefined && capacity < held)
    throw new OptionError(
      `${operation}: capacity must be at least ring.keepFirst + ring.window = ${held}, got ${capacity}`,
    );
  return { operation, ...cache, valueDim };
}

function readRotary(options: OptionReader, name: string): CheckedAngles | undefined {
  const angles = readAngles(options.object(name, ANGLE_NAMES, ANGLE_OTHERS)!, options.requiredInteger("headDim"));
  if (followsLength(angles))
    throw new OptionError(
      `${options.operation}: rotary.scaling.sequenceLength must be given: keys that were turned stay as they are`,
    );
  return angles;
}

/** Throws if the option numKvHeads differs from the number of the cache. */
export function checkKvHeads(options: OptionReader, { numKvHeads }: CacheForm): void {
  if ((options.integer("numKvHeads") ?? numKvHeads) !== numKvHeads)
    throw options.refuse("numKvHeads", `be that of the cache, ${numKvHeads}`);
}
