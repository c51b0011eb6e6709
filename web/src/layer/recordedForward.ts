import type { EngineLayer } from "./engineLayer.js";
import type { ForwardProblem } from "./forwardProblem.js";

/** A call of forward that a step runs many times. */
export interface RecordedForward {
  readonly layer: EngineLayer;
  readonly problem: ForwardProblem;
  /** Throws if the layer or its cache was disposed, or if the cache now has what a step cannot follow. */
  readonly assertUsable: (operation: string) => void;
  /** Notes what a run has appended. */
  readonly note: () => void;
}
