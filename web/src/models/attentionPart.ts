import type { ForwardOptions } from "../layer/forwardOptions.js";
import type { Layer } from "../layer/layer.js";

/** The options of a call of forward, without those about its results. */
export type AttentionCall = Omit<ForwardOptions, "returns" | "into" | "location" | "save">;

/** An attention layer of a model. */
export interface AttentionPart {
  /** Its name in transformers, for hooks. */
  readonly name: string;
  /** The layer. It is there once the weights are loaded. */
  readonly layer: Layer;
  /** What the model gives to every call of the layer: causal, window, scale. */
  readonly options: AttentionCall;
}
