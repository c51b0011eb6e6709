import { formula } from "headwise/formula";

import { NO_SETTINGS, type AttentionSettings } from "../../web/src/attention/attentionSettings.js";
import { GRADIENTS, type Gradient } from "../../web/src/attention/backwardProblem.js";
import { readDerivatives } from "../../web/src/formula/derivatives.js";
import type { FloatDtype, Kernel } from "../../web/src/webgpu/kernels/kernel.js";
import { kernelKey } from "../../web/src/webgpu/kernels/shader.js";
import { cleanStep, plannedBackward, type BackwardCall } from "../../web/src/webgpu/plan/backward.js";
import type { Limits } from "../../web/src/webgpu/plan/limits.js";
import { resolveSequences } from "../../web/src/webgpu/plan/sequences.js";
import { DESKTOP, SMALLEST } from "./planFacts.js";

export interface Given {
  readonly shape?: Partial<BackwardCall["shape"]>;
  readonly dtype?: FloatDtype;
  readonly settings?: Partial<AttentionSettings>;
  readonly wanted?: readonly Gradient[];
}

export const HEADS = ["dQuery", "dKey", "dValue"] as const;

/** A call; its tensors have no data, because plans do not read it. */
function callOf({ shape, dtype = "float32", settings, wanted = HEADS }: Given): BackwardCall {
  const extents = { batchSize: 1, numHeads: 12, numKvHeads: 12, queryLength: 512, keyLength: 512, headDim: 64, valueDim: 64, ...shape }; // oxfmt-ignore
  const all = { ...NO_SETTINGS, ...settings };
  const tensor = <D extends FloatDtype>(of: D) => ({ data: undefined, shape: [], dtype: of }) as never;
  return {
    operation: "attentionBackward",
    layout: "BHSD",
    kvLayout: "BHSD",
    shape: extents,
    query: tensor(dtype),
    key: tensor(dtype),
    value: tensor(dtype),
    output: tensor(dtype),
    lse: tensor("float32"),
    dOutput: tensor("float32"),
    dLse: undefined,
    settings: all,
    derivatives: all.score && readDerivatives("attentionBackward", all.score),
    ragged: undefined,
    wanted: Object.fromEntries(GRADIENTS.map((name) => [name, wanted.includes(name)])) as Record<Gradient, boolean>,
    location: "cpu",
  };
}

export function planOf(given: Given, limits = DESKTOP) {
  const call = callOf(given);
  return plannedBackward(call, resolveSequences(call.shape, call.settings, call.ragged), limits).plan;
}

export const bias = (...extents: [number, number, number, number]): Partial<AttentionSettings> => ({
  bias: { tensor: { data: new Float32Array(0), shape: extents, dtype: "float32" }, extents },
});
export const score = formula("s * factor + distances[q - k + 500]", { factor: 0.5, distances: new Float32Array(1000) });
export const visible = formula("doc[q] == doc[k] && k <= q", { doc: new Float32Array(512) });

/** The kernels of a call, each once. */
function kernelsOf(given: Given, limits: Limits): Kernel[] {
  const { rows, queries, keys, heads, bias, tables } = planOf(given, limits);
  return [rows, queries, keys, heads, bias, bias?.sum, tables, tables?.sum]
    .filter((step) => step !== undefined)
    .map(({ kernel }) => kernel);
}

/** Every kernel of gradients of attention, with and without rules and formulas. */
export function backwardKernels(): Kernel[] {
  const options = { softcap: 20, ...bias(1, 1, 512, 512) };
  const kernels = [SMALLEST, DESKTOP].flatMap((limits) => [
    ...kernelsOf({ wanted: [...HEADS, "dHeadGain"] }, limits),
    ...kernelsOf({ settings: options, dtype: "float16", wanted: [...HEADS, "dBias"] }, limits),
    ...kernelsOf({ settings: { score, visible, ...bias(1, 1, 512, 512) }, wanted: [...HEADS, "dBias", "dTables"] }, limits),
    ...kernelsOf({ settings: { visible }, wanted: HEADS }, limits),
  ]); // oxfmt-ignore
  const all = [...kernels, cleanStep("float32", 10).kernel, cleanStep("float16", 10).kernel];
  return [...new Map(all.map((kernel) => [kernelKey(kernel), kernel])).values()];
}
