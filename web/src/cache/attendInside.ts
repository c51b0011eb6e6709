import { ATTEND_PATCHES, readRowPatch, type GivenPatches, type PatchName } from "../attention/patch.js";
import { ATTEND_RETURNS, ATTEND_VIEWS, readViews, type ViewExtents, type Views } from "../attention/views.js";
import { UnsupportedError } from "../base/errors.js";
import type { OptionReader } from "../read/options.js";
import type { CacheForm } from "./cacheProblem.js";

/** Reads the option `returns` of attend. */
export function attendReturns(options: OptionReader): OptionReader | undefined {
  const returns = options.object("returns", [...ATTEND_RETURNS, "contributions"]);
  if (returns?.has("contributions"))
    throw new UnsupportedError(
      `${returns.at("contributions")} is offered by layers, a cache has no output projection`,
      {
        hint: "`layer.forward(x, { cache, returns: { contributions: true } })`. Here headOutputs has the result of each head.",
      },
    );
  return returns;
}

/** Reads the views among the entries of `returns`. */
export function attendViews(returns: OptionReader | undefined, extents: ViewExtents): Views {
  return readViews(returns, ATTEND_VIEWS, extents, undefined);
}

/** Reads the option `patch` of attend. */
export function attendPatch(
  options: OptionReader,
  { ring, rotary }: Pick<CacheForm, "ring" | "rotary">,
  extents: ViewExtents,
): GivenPatches | undefined {
  const patch = options.object("patch", [...ATTEND_PATCHES, "key", "value"]);
  if (!patch) return undefined;
  for (const name of ["key", "value"])
    if (patch.has(name))
      throw new UnsupportedError(`${patch.at(name)} is offered by layers: a cache holds what was appended to it`, {
        hint: "Give the new numbers to `append` or `step`. For earlier tokens: `read` the cache, change them, and append them to a new cache that is not rotary.",
      });
  if (rotary && ring?.positions === "cache" && patch.has("query"))
    throw new UnsupportedError(
      `${patch.at("query")} must be absent with ring.positions "cache": a query is turned twice, for the first and the other keys`,
      { hint: "Give the changed query to the call instead." },
    );
  const given = (ATTEND_PATCHES as readonly PatchName[]).filter((name) => patch.has(name));
  return Object.fromEntries(given.map((name) => [name, readRowPatch(patch, name, extents, undefined)]));
}
