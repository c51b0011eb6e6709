import type { OptionReader } from "../call/options.js";
import { readTokenPositions } from "../position/tokenPositions.js";
import type { CacheForm } from "./cacheProblem.js";
import { refuseGivenPlaces } from "./ringPlaces.js";

/** Reads the positions of tokens or queries of a cache, `[B, S]`. */
export function readCachePositions(options: OptionReader, form: CacheForm, length: number): Int32Array | undefined {
  const positions = readTokenPositions(options, { batchSize: form.batchSize, length });
  if (!positions) return undefined;
  if (!form.rotary)
    throw options.refuse("positions", "be absent with a cache that is not rotary", "Nothing else reads them.");
  refuseGivenPlaces(options, form);
  return positions.data;
}
