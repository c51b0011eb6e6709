import type { PlacedResult } from "../attention/attentionResult.js";
import type { Place } from "../tensor/place.js";
import type { Eventually, Recorded } from "../turn/context.js";
import type { EngineSaved, LayerBackwardProblem, LayerUpdate, PlacedLayerGradients } from "./backwardProblem.js";
import type { ForwardProblem } from "./forwardProblem.js";
import type { PlacedLayerViews } from "./views.js";

/** A layer in an engine. */
export interface EngineLayer {
  /** Whether the layer lies on the GPU. Then inputs and results may lie there too. */
  readonly onGpu?: boolean;
  /** Bytes of the packed weights and tables. */
  readonly bytes: number;
  /** The engine in whose memory it lies. */
  readonly placement: Place;
  /** The result has `saved` if the problem has `save`. */
  forward(problem: ForwardProblem): Eventually<PlacedResult & PlacedLayerViews & { readonly saved?: EngineSaved }>;
  backward(problem: LayerBackwardProblem): Eventually<PlacedLayerGradients>;
  /** Replaces the weights. */
  update(problem: LayerUpdate): Eventually<void>;
  /** Records a call into a GPUCommandEncoder; only layers on the GPU can. */
  readonly record?:
    | ((encoder: object, problem: ForwardProblem) => Recorded<PlacedResult & PlacedLayerViews>)
    | undefined;
  release(): Eventually<void>;
}
