import {
  ATTEND_PATCHES,
  readRowPatch,
  type AttendPatch,
  type GivenPatches,
  type PatchName,
  type PatchRows,
} from "../attention/patch.js";
import { isOfKeys, type ViewExtents } from "../attention/views.js";
import { OptionError } from "../base/errors.js";
import { namesOf, type NumberList, type OptionReader } from "../read/options.js";

/** The new content of rows of keys or values. */
export interface PatchKeys extends PatchRows {
  /** The chosen rows of keys. `queries` is another name for it. */
  readonly keys?: NumberList | undefined;
}

/**
 * Overwrites queries, keys, values, weights or results of heads inside of a layer, for one call. What follows from a
 * patched row is computed exactly as if the call itself had computed the data: patching query, key, value or
 * headOutputs with the call's own data changes no bit.
 *
 * `"mean"` puts the mean of a head's rows, over the batch and all rows without padding, in place of each row. For probs
 * it puts the mean of a row's weights in place of the weight of each key that the row sees. Padding is never
 * overwritten.
 */
export interface Patch extends AttendPatch {
  /**
   * The call's keys after norm and rotary embedding, `[B, kvHeads, keys, headDim]`. With a cache the new data is what
   * the cache stores.
   */
  readonly key?: PatchKeys | "mean" | undefined;
  /** The call's values, `[B, kvHeads, keys, valueHeadDim]`. With a cache the new data is what the cache stores. */
  readonly value?: PatchKeys | "mean" | undefined;
}

const PATCHES = [
  ...ATTEND_PATCHES,
  ...namesOf<Omit<Patch, keyof AttendPatch>>({ key: true, value: true }),
] as readonly PatchName[];

/** Reads the option `patch`. `numKeys` is the number of the call's own keys; undefined if it has none. */
export function readPatch(
  options: OptionReader,
  extents: ViewExtents,
  numKeys: number | undefined,
): GivenPatches | undefined {
  const patch = options.object("patch", PATCHES);
  if (!patch) return undefined;
  const given = PATCHES.filter((name) => patch.has(name));
  if (numKeys === undefined)
    for (const name of given.filter(isOfKeys))
      throw new OptionError(`${patch.at(name)} must be absent with attendOnly, which projects no keys`);
  return Object.fromEntries(given.map((name) => [name, readRowPatch(patch, name, extents, numKeys)]));
}
