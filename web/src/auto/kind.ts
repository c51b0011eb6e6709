import type { PlacedResult } from "../attention/attentionResult.js";
import type { Engine } from "../engine/engine.js";

/** Calls that run the same kernels, and a small call of them that checks an engine. */
export interface Kind {
  /** The kind as text, equal for equal kinds. */
  readonly name: string;
  /** Computes the small call. */
  sample(engine: Engine): Promise<readonly PlacedResult[]>;
  /** The largest difference between two engines that both keep the error model. */
  readonly tolerance: number;
}
