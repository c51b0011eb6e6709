import type { AttentionResult } from "../attention/attentionResult.js";
import type { Eventually } from "../call/context.js";
import type { Place } from "../tensor/place.js";
import type { ForwardProblem } from "./forwardProblem.js";

/** A layer in an engine. */
export interface EngineLayer {
  /** Bytes of the packed weights and tables. */
  readonly bytes: number;
  /** The engine in whose memory it lies. */
  readonly placement: Place;
  forward(problem: ForwardProblem): Eventually<AttentionResult>;
  release(): void;
}
