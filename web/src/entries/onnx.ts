/**
 * The ONNX operators `Attention` (opset 23 and later), `RotaryEmbedding` (opset 23 and later) and `Softmax`. Inputs,
 * attributes and outputs have the names of the ONNX specification. An instance of headwise computes them.
 *
 * @module
 */
export { attention } from "../onnx/attention.js";
export type {
  AttentionAttributes,
  AttentionInputs,
  AttentionOperatorOptions,
  AttentionOutputs,
} from "../onnx/attention.js";
export { rotaryEmbedding } from "../onnx/rotaryEmbedding.js";
export type { RotaryEmbeddingAttributes, RotaryEmbeddingInputs } from "../onnx/rotaryEmbedding.js";
export { softmax } from "../onnx/softmax.js";
export type { SoftmaxAttributes } from "../onnx/softmax.js";
export type { OperatorOptions } from "../onnx/operator.js";
export type { FloatTensor, IntegerTensor, NumericTensor } from "../onnx/element.js";
