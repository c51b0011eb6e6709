import type { CheckedAngles } from "../position/rotaryAngles.js";
import type { LayerProblem } from "./layerProblem.js";

/** The part of a layer that a call of forward needs. */
export interface LayerForm extends Pick<LayerProblem, "shape" | "layout"> {
  /** How the layer turns queries and keys by their positions (rotary embedding), if it does. */
  readonly turns: CheckedAngles | undefined;
  /** How many rows the layer's table of positions has; undefined: positions have no limit. */
  readonly positionRows: number | undefined;
  /** Whether the layer uses positions at all: it turns queries and keys, or adds something to x. */
  readonly usesPositions: boolean;
}
