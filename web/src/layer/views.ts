import type { Slice } from "../attention/returns.js";
import {
  ATTEND_RETURNS,
  ATTEND_VIEWS,
  readViews,
  type AttendReturns,
  type PlacedViews,
  type ViewExtents,
  type Views,
  type ViewsAt,
} from "../attention/views.js";
import { UnsupportedError } from "../base/errors.js";
import type { LocationChoice } from "../read/location.js";
import { namesOf, type OptionReader } from "../read/options.js";

/**
 * What `layer.forward` returns. By default only `output` is computed. What is returned of the inside of the layer shows
 * the effects of `patch`.
 */
export interface ForwardReturns extends AttendReturns {
  /**
   * The share of each head in the output: its headOutputs times its rows of Wo, `[B, heads, queries, outputDim]`. Those
   * of all heads and the bias of the output projection sum to the output. Needs an output projection. Default false.
   */
  readonly contributions?: boolean | Slice | undefined;
}

/** What can be seen inside of a layer. */
export const LAYER_VIEWS = [...ATTEND_VIEWS, "contributions"] as const;
export type LayerView = (typeof LAYER_VIEWS)[number];

/** The views that a call of forward asked for. */
export type LayerViews = Views<LayerView>;

/** The types of these views, if `returns` is R and results lie at `location` L. */
export type LayerViewsAt<L extends LocationChoice, R> = ViewsAt<L, R, LayerView>;

/** These views as an engine gives them. */
export type PlacedLayerViews = PlacedViews<LayerView>;

export const FORWARD_RETURNS = [
  ...ATTEND_RETURNS,
  ...namesOf<Omit<ForwardReturns, keyof AttendReturns>>({ contributions: true }),
];

/** Reads the views among the entries of `returns`. `numKeys` is known if the call has no cache. */
export function readLayerViews(
  returns: OptionReader | undefined,
  extents: ViewExtents,
  numKeys: number | undefined,
  hasOutputProjection: boolean,
): LayerViews {
  const views = readViews(returns, LAYER_VIEWS, extents, numKeys);
  if (returns && views.contributions && !hasOutputProjection)
    throw new UnsupportedError(`${returns.at("contributions")} needs an output projection, this layer has none`, {
      hint: "headOutputs has the share of each head in the output.",
    });
  return views;
}
