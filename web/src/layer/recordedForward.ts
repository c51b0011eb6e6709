import type { EngineLayer } from "./engineLayer.js";
import type { ForwardProblem } from "./forwardProblem.js";

/** A call of forward that a step runs many times. */
export interface RecordedForward {
  readonly layer: EngineLayer;
  readonly problem: ForwardProblem;
  /** Throws if the layer or its cache was disposed. */
  readonly assertAlive: (operation: string) => void;
  /** Throws, when it is a run's turn, if the cache now has what the step cannot follow, or what the call refuses. */
  readonly assertUsable: (operation: string) => void;
  /** Notes what a run has appended. */
  readonly note: () => void;
}
