import type { CallArguments } from "../call/callArguments.js";
import type { Eventually } from "../call/context.js";
import { readOptions, type OptionReader } from "../call/options.js";
import { PLACE_CHOICES, type PlaceChoice } from "../tensor/place.js";
import { CACHE_NAMES, cacheProblem, type CacheProblem, type KvCacheOptions } from "./cacheProblem.js";
import type { EngineCache } from "./engineCache.js";
import { keepOwnPositions, splitSaved } from "./ownPositions.js";

/** Options of `kvCache` for a cache that was saved. Its sizes, its type and its ring are in the bytes. */
export interface SavedCacheOptions extends Pick<KvCacheOptions, "placement" | "signal"> {
  /** What `cache.save()` gave. */
  readonly from: Uint8Array;
}

/** A call of kvCache with `from` that has passed every check. */
export interface SavedCacheProblem {
  readonly operation: string;
  readonly from: Uint8Array;
  readonly placement: PlaceChoice;
  readonly signal: AbortSignal | undefined;
}

const FREE = ["from", "placement", "signal"];

/** Reads a call of kvCache: a new cache, or with the option `from` one that was saved. */
export function kvCacheProblem(call: CallArguments, options: unknown): CacheProblem | SavedCacheProblem {
  const reader = readOptions(call, options, [...CACHE_NAMES, "from"]);
  return savedProblem(call, reader) ?? cacheProblem(reader);
}

/** Reads a call of kvCache that has the option `from`; undefined: it has none. */
function savedProblem(call: CallArguments, options: OptionReader): SavedCacheProblem | undefined {
  if (!options.has("from")) return undefined;
  const known = CACHE_NAMES.find((name) => !FREE.includes(name) && options.has(name));
  if (known) throw options.refuse(known, "be absent in a call with from: the bytes say it");
  return {
    operation: call.operation,
    from: call.bytes("from", options.value("from"), "`cache.save()` gives one."),
    placement: options.oneOf("placement", PLACE_CHOICES, "auto"),
    signal: options.signal(),
  };
}

/** The part of an engine that reads saved caches. */
interface Loader {
  loadCache(operation: string, saved: Uint8Array, placement: PlaceChoice): Eventually<EngineCache>;
}

/** Makes the cache that was saved. */
export async function restoreCache(
  engine: Loader,
  { operation, from, placement }: SavedCacheProblem,
): Promise<EngineCache> {
  const { saved, ownOf } = splitSaved(operation, from);
  const cache = await engine.loadCache(operation, saved, placement);
  try {
    keepOwnPositions(cache, ownOf(cache));
  } catch (error) {
    cache.release();
    throw error;
  }
  return cache;
}
