import type { LayerProblem } from "../../layer/layerProblem.js";
import type { HeadEnds } from "./headEnds.js";
import type { KeptTable } from "./keptTable.js";
import type { GpuWeights } from "./weights.js";

/** A layer whose weights lie on the device of a call. */
export interface LayerOnDevice {
  readonly problem: LayerProblem;
  readonly ends: HeadEnds | undefined;
  readonly weights: GpuWeights;
  /** The latest table of angles, and the latest one of sinusoids. */
  readonly angles: KeptTable;
  readonly sinusoids: KeptTable;
}
