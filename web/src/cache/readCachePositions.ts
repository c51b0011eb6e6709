import { readTokenPositions, type TokenPositions } from "../position/tokenPositions.js";
import type { OptionReader } from "../read/options.js";
import type { CacheForm } from "./cacheProblem.js";
import { refuseGivenPlaces } from "./ringPlaces.js";

/** Reads the positions of tokens or queries of a cache, `[planes, B, S]`. */
export function readCachePositions(options: OptionReader, form: CacheForm, length: number): TokenPositions | undefined {
  const positions = readTokenPositions(options, { batchSize: form.batchSize, length }, form.sections ? 3 : undefined);
  if (positions) refuseGivenPlaces(options, form);
  return positions;
}

/** Throws if positions have three planes beside ALiBi, whose distances are of one number each. */
export function refusePlanes(options: OptionReader, positions: TokenPositions | undefined): void {
  if (positions && positions.planes > 1 && options.has("alibiSlopes"))
    throw options.refuse("alibiSlopes", "be absent with positions of three planes", "Its distances are of one number.");
}
