import type { OptionReader } from "../call/options.js";
import type { CheckedAngles, RotaryAngles } from "../position/rotaryAngles.js";

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

/** The cache knows its number of heads: an option that differs is a mistake. */
export function checkKvHeads(options: OptionReader, { numKvHeads }: CacheForm): void {
  if ((options.integer("numKvHeads") ?? numKvHeads) !== numKvHeads)
    throw options.refuse("numKvHeads", `be that of the cache, ${numKvHeads}`);
}
