/**
 * `headwise/train`: what a training loop needs besides attention. Plain functions over tensors, with their gradients. The
 * product is `linear` and `linearBackward` of an instance, attention is `layer.forward` and `layer.backward`.
 *
 * @module
 */
export { activation, activationBackward, type ActivationGradient, type GatedGradients } from "../train/activation.js";
export { adamW, type AdamW, type AdamWOptions } from "../train/adamW.js";
export { clipGradients } from "../train/clipGradients.js";
export { crossEntropy, type CrossEntropy } from "../train/crossEntropy.js";
export { embedding, embeddingBackward } from "../train/embedding.js";
export {
  layerNorm,
  layerNormBackward,
  rmsNorm,
  rmsNormBackward,
  type LayerNormGradients,
  type NormOptions,
  type RmsNormGradients,
} from "../train/norm.js";
export { flatten, mapTree, unflatten, type Flat, type Tree } from "../train/parameterTree.js";
export { random, type Random } from "../train/random.js";
export { loadSafetensors, saveSafetensors } from "../train/safetensors.js";
export type { StepActivation } from "../step/stepProblem.js";
export { type Floats, type Indices } from "../tensor/plainTensor.js";
