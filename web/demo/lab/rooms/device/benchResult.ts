import type { BenchFigure } from "../../engine/bench.js";

/** The result of one run, and the device. */
export interface BenchResult {
  readonly device: string;
  readonly date: string;
  readonly figures: readonly BenchFigure[];
  /** How many engines were to be measured, if the run was cancelled. */
  readonly cancelledOf?: number;
}
