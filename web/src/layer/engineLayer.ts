import type { PlacedResult } from "../attention/attentionResult.js";
import type { Eventually } from "../call/context.js";
import type { ForwardProblem } from "./forwardProblem.js";

/** A layer in an engine. */
export interface EngineLayer {
  /** Bytes of the packed weights and tables. */
  readonly bytes: number;
  forward(problem: ForwardProblem): Eventually<PlacedResult>;
  release(): void;
}
