import type { FloatResult } from "../attention/attentionResult.js";
import type { Attention } from "../instance/attention.js";
import { namesOf } from "../read/options.js";
import { product } from "../tensor/product.js";
import { asGiven, checkFloats, convert, emptyArray, widen, type FloatTensor } from "./element.js";
import { readOperator, type OperatorOptions, type OperatorRules } from "./operator.js";

export interface SoftmaxAttributes {
  /**
   * The axis along which the results sum to 1. Default −1. Before opset 13 the default is 1, and all axes from this one
   * on count as one axis.
   */
  readonly axis?: number | undefined;
}

const OPERATOR = "Softmax";

const RULES: OperatorRules = {
  operator: OPERATOR,
  since: 1,
  inputs: { input: 1 },
  required: ["input"],
  attributes: { axis: 1 },
  options: namesOf<OperatorOptions>({ opset: true }),
};

/**
 * The operator `Softmax`, for any rank. It computes in double precision and does not use the instance. The output has
 * the shape and type of the input.
 *
 * @throws ShapeError, OptionError or OutOfMemoryError.
 */
// oxlint-disable-next-line typescript/require-await -- all operators are called alike
export async function softmax(
  hw: Pick<Attention, "report">,
  inputs: { readonly input: FloatTensor },
  attributes: SoftmaxAttributes = {},
  options: OperatorOptions = {},
): Promise<{ output: FloatResult }> {
  const { call, inputs: given, attributes: reader, opset } = readOperator(RULES, hw, inputs, attributes, options);
  const input = checkFloats(call, "input", given.value("input"));
  const rank = input.shape.length;
  const flattens = opset < 13;
  const axisGiven = reader.integer("axis", { min: -rank, max: Math.max(0, rank - 1) }) ?? (flattens ? 1 : -1);
  const axis = axisGiven < 0 ? axisGiven + rank : axisGiven;
  const inner = flattens ? 1 : product(input.shape.slice(axis + 1));
  const length = flattens ? product(input.shape.slice(axis)) : (input.shape[axis] ?? 1);

  const x = widen(input).data;
  const output = emptyArray(call, "output", "float32", x.length);
  for (let line = 0; line < x.length / (length || 1); ++line)
    softmaxLine(x, output, Math.floor(line / inner) * length * inner + (line % inner), length, inner);
  return {
    output: asGiven(input, convert({ data: output, shape: input.shape, dtype: "float32" }, input.dtype)),
  };
}

/** Softmax of `length` numbers: the first is at `start`, and each next one is `stride` further. */
function softmaxLine(x: Float32Array, y: Float32Array, start: number, length: number, stride: number): void {
  const end = start + length * stride;
  let max = -Infinity;
  for (let k = start; k < end; k += stride) max = Math.max(max, x[k]!);
  let sum = 0;
  for (let k = start; k < end; k += stride) sum += Math.exp(x[k]! - max);
  for (let k = start; k < end; k += stride) y[k] = Math.exp(x[k]! - max) / sum;
}
