import type { CallArguments } from "../read/callArguments.js";
import { readOptions, type OptionReader } from "../read/options.js";
import { own, required } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { PlaceChoice } from "../tensor/place.js";
import type { Eventually } from "../turn/context.js";
import { CACHE, cacheProblem, type CacheProblem, type KvCacheOptions } from "./cacheProblem.js";
import type { EngineCache } from "./engineCache.js";
import { CACHE_OTHERS } from "./otherNames.js";
import { splitSaved } from "./ownPositions.js";

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

const { placement, signal } = CACHE;

/** A row for each option of a cache that was saved. */
export const SAVED = {
  from: required(own(undefined, readBytes), "a Uint8Array"),
  placement,
  signal,
} satisfies TableOf<SavedCacheOptions>;

/** Reads a call of kvCache: a new cache, or with the option `from` one that was saved. */
export function kvCacheProblem(call: CallArguments, options: unknown): CacheProblem | SavedCacheProblem {
  const reader = readOptions(call, options, namesIn({ ...CACHE, ...SAVED }), "", "option", CACHE_OTHERS);
  return reader.has("from") ? savedProblem(reader) : cacheProblem(reader);
}

/** Reads a call of kvCache that has the option `from`. */
function savedProblem(options: OptionReader): SavedCacheProblem {
  const known = namesIn(CACHE).find((name) => !(name in SAVED) && options.has(name));
  if (known) throw options.refuse(known, "be absent in a call with from: the bytes say it");
  return { operation: options.operation, ...readTable(options, SAVED) };
}

function readBytes(options: OptionReader, name: string): Uint8Array | undefined {
  return options.call.bytes(name, options.value(name), "`cache.save()` gives one.");
}

/** The part of an engine that reads saved caches. */
interface Loader {
  loadCache(
    operation: string,
    saved: Uint8Array,
    placement: PlaceChoice,
    signal: AbortSignal | undefined,
  ): Eventually<EngineCache>;
}

/** Makes the cache that was saved. */
export async function restoreCache(
  engine: Loader,
  { operation, from, placement, signal }: SavedCacheProblem,
): Promise<EngineCache> {
  const { saved, remember } = splitSaved(operation, from);
  const cache = await engine.loadCache(operation, saved, placement, signal);
  try {
    remember(cache);
  } catch (error) {
    cache.release();
    throw error;
  }
  return cache;
}
