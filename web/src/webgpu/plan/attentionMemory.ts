import type { AttentionProblem } from "../../attention/attentionProblem.js";
import { product } from "../../tensor/product.js";
import { BYTES, type TypedTensor } from "../../tensor/tensor.js";
import { formulaWordCount } from "../formula/formulaWords.js";
import { factsOf } from "./facts.js";
import { checkBytes, divideUp, type Limits } from "./limits.js";
import { planAttention, ROW_SECTIONS, type AttentionPlan } from "./plan.js";
import { resolveSequences } from "./sequences.js";
import { checkSettings } from "./settings.js";

/**
 * Bytes of buffers that a call takes on the GPU, by purpose, for tensors in JavaScript. Pooled buffers may be larger by a
 * quarter.
 *
 * @throws UnsupportedError if the call exceeds a limit of the device.
 */
export function attentionMemory(problem: AttentionProblem, limits: Limits): Record<string, number> {
  const sequences = resolveSequences(problem.shape, problem.settings, problem.ragged);
  const plan = planAttention(factsOf(problem, sequences), limits);
  checkSettings(problem, limits);
  const { query, key, value, settings, location, wanted, shape } = problem;
  const results = resultBytes(problem, plan);
  const formulas = 4 * formulaWordCount(settings) * (plan.inspect.length + Number(plan.attend !== undefined));
  const statistics = 4 * shape.batchSize * shape.numHeads * shape.queryLength;
  const delivered = Object.values(results).reduce((sum, bytes) => sum + bytes, 0);
  const readback = delivered + statistics * (Number(wanted.lse) + Number(wanted.entropy));
  if (location === "cpu") checkBytes(problem.operation, "what is read back", readback, limits, ["maxBufferSize"]);
  return {
    query: bytesOf(query),
    key: bytesOf(key),
    value: bytesOf(value),
    ...(settings.mask && { mask: bytesOf(settings.mask.tensor) }),
    ...(settings.bias && { bias: bytesOf(settings.bias.tensor) }),
    ...(formulas > 0 && { formulas }),
    ...results,
    statistics: 4 * ROW_SECTIONS * plan.rowStride,
    scratch: packedBytes(problem, plan) + scratchBytes(problem, plan),
    ...(location === "cpu" && { readback }),
  };
}

const bytesOf = ({ shape, dtype }: Pick<TypedTensor, "shape" | "dtype">) => BYTES[dtype] * product(shape);

function resultBytes({ shape, output, wanted }: AttentionProblem, plan: AttentionPlan): Record<string, number> {
  const { batchSize, keyLength } = shape;
  const inspected = plan.inspect.map(({ stage, heads, queries, topK }): [string, number] => {
    const rows = batchSize * heads * queries;
    if (topK) return ["topK", 8 * rows * topK.k];
    return [stage === "probs" ? "probs" : "scores", 4 * rows * keyLength];
  });
  return { ...(wanted.output && { output: bytesOf(output) }), ...Object.fromEntries(inspected) };
}

/** Inputs in the form that the kernels read, if that is another. */
function packedBytes({ shape }: AttentionProblem, { packed }: AttentionPlan): number {
  const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const rows = (heads: number, length: number, width: number) => 16 * batchSize * heads * length * divideUp(width, 4);
  return (
    (packed.query ? rows(numHeads, queryLength, headDim) : 0) +
    (packed.key ? rows(numKvHeads, keyLength, headDim) : 0) +
    (packed.value ? rows(numKvHeads, keyLength, valueDim) : 0)
  );
}

/** Results of parts of the keys, the output before it is float16, and the probabilities of which topK chooses. */
function scratchBytes({ shape }: AttentionProblem, { attend, narrow, inspect }: AttentionPlan): number {
  const { batchSize, numHeads, queryLength, keyLength, valueDim } = shape;
  const parts = attend ? attend.partBytes.outputs + attend.partBytes.statistics : 0;
  const wide = narrow ? 4 * batchSize * numHeads * queryLength * valueDim : 0;
  const ranked = inspect.filter(({ topK }) => topK).map(({ heads, rowsPerStep }) => 4 * batchSize * heads * rowsPerStep * keyLength); // oxfmt-ignore
  return parts + wide + ranked.reduce((sum, bytes) => sum + bytes, 0);
}
