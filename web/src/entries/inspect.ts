/**
 * `headwise/inspect`: what attention weights say about a model. Plain functions over the `probs` of calls and the weights
 * of layers: scores of heads, the way of tokens through layers, the importance of heads.
 *
 * @module
 */
export { attentionFlow, type FlowOptions } from "../inspect/attentionFlow.js";
export type { PositionOptions } from "../inspect/attentionMaps.js";
export { composition, type Composition } from "../inspect/composition.js";
export { detect, type DetectedHead, type DetectOptions, type HeadKind } from "../inspect/detect.js";
export { duplicateToken, firstToken, induction, previousToken, selfToken } from "../inspect/detectors.js";
export type { AttentionWeights } from "../inspect/headCircuits.js";
export { headImportance, type HeadImportance, type HeadImportanceOptions } from "../inspect/headImportance.js";
export { distanceSummary, entropySummary, massSummary, type HeadSummary } from "../inspect/headSummary.js";
export { positional, type Positional } from "../inspect/positional.js";
export { rollout } from "../inspect/rollout.js";
export type { HeadFusion, MixingOptions } from "../inspect/tokenMixing.js";
export type { Floats, Indices } from "../tensor/plainTensor.js";
