import { beforeAll, describe, expect, test } from "@jest/globals";
import { formula } from "headwise/formula";

import { GRADIENTS, type Gradient } from "../../web/src/attention/backwardProblem.js";
import type { AttentionSettings } from "../../web/src/attention/attentionSettings.js";
import { readDerivatives } from "../../web/src/formula/derivatives.js";
import type { FloatDtype, Kernel } from "../../web/src/webgpu/kernels/kernel.js";
import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import { cleanStep, plannedBackward, type BackwardCall } from "../../web/src/webgpu/plan/backward.js";
import type { Limits } from "../../web/src/webgpu/plan/limits.js";
import { resolveSequences } from "../../web/src/webgpu/plan/sequences.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { DESKTOP, SMALLEST } from "./planFacts.js";

const NO_OPTIONS: AttentionSettings = {
  scale: undefined,
  softcap: 0,
  causal: "none",
  queryOffset: undefined,
  window: { left: undefined, right: undefined },
  mask: undefined,
  bias: undefined,
  keyLengths: undefined,
  queryLengths: undefined,
  excludeSelf: false,
  alibiSlopes: undefined,
  sinks: undefined,
  headGain: undefined,
  dropout: undefined,
  emptyRows: "zero",
  score: undefined,
  visible: undefined,
};

interface Given {
  readonly shape?: Partial<BackwardCall["shape"]>;
  readonly dtype?: FloatDtype;
  readonly settings?: Partial<AttentionSettings>;
  readonly wanted?: readonly Gradient[];
}

const HEADS = ["dQuery", "dKey", "dValue"] as const;

/** A call; its tensors have no data, because plans do not read it. */
function callOf({ shape, dtype = "float32", settings, wanted = HEADS }: Given): BackwardCall {
  const extents = { batchSize: 1, numHeads: 12, numKvHeads: 12, queryLength: 512, keyLength: 512, headDim: 64, valueDim: 64, ...shape }; // prettier-ignore
  const all = { ...NO_OPTIONS, ...settings };
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

function planOf(given: Given, limits = DESKTOP) {
  const call = callOf(given);
  return plannedBackward(call, resolveSequences(call.shape, call.settings, call.ragged), limits).plan;
}

const bias = (...extents: [number, number, number, number]): Partial<AttentionSettings> => ({
  bias: { tensor: { data: new Float32Array(0), shape: extents, dtype: "float32" }, extents },
});
const score = formula("s * factor + distances[q - k + 500]", { factor: 0.5, distances: new Float32Array(1000) });
const visible = formula("doc[q] == doc[k] && k <= q", { doc: new Float32Array(512) });

describe("plans of gradients", () => {
  test.each<[string, Given, Limits]>([
    ["12 heads of 64", {}, DESKTOP],
    ["the same within the smallest limits", {}, SMALLEST],
    ["few rows", { shape: { queryLength: 4 } }, DESKTOP],
    ["wide heads of a group, only of values", { shape: { numKvHeads: 2, headDim: 64, valueDim: 200 }, wanted: ["dValue"] }, DESKTOP],
    ["only of heads", { settings: { sinks: new Float32Array(12) }, wanted: ["dSinks"] }, DESKTOP],
    ["a bias for all heads", { settings: bias(1, 1, 512, 512), wanted: ["dBias"] }, DESKTOP],
    ["a bias by key", { shape: { batchSize: 4 }, settings: bias(4, 1, 1, 512), wanted: ["dBias"] }, DESKTOP],
    ["tables", { settings: { score, visible }, wanted: ["dTables"] }, DESKTOP],
  ])("%s", (_, given, limits) => {
    const plan = planOf(given, limits);
    const { tile, queries, keys, heads, bias, tables } = plan;
    const step = (pass: { workgroups: number; parts?: number; blocks?: number } | undefined) =>
      pass && { workgroups: pass.workgroups, ...(pass.parts && { parts: pass.parts }), ...(pass.blocks && { blocks: pass.blocks }) };
    const passes = { queries: step(queries), keys: step(keys), heads: step(heads), bias: step(bias), tables: step(tables) };
    expect({ rows: tile.rows, workgroupBytes: tile.workgroupBytes, rowBytes: plan.rowBytes, ...passes }).toMatchSnapshot();
  }); // prettier-ignore

  test("what a call does not ask for is not computed", () => {
    const { queries, keys, heads, bias, tables } = planOf({ wanted: ["dKey"] });
    expect([queries, keys === undefined, heads, bias, tables]).toEqual([undefined, false, undefined, undefined, undefined]); // prettier-ignore
  });

  test("rows without keys are looked for if they are an error", () => {
    expect(planOf({ wanted: ["dKey"], settings: { emptyRows: "throw" } }).queries).toBeDefined();
  });

  test("parts depend on the shape alone", () => {
    const given = { settings: bias(1, 1, 1, 1), wanted: ["dBias"] } as const;
    expect(planOf(given, DESKTOP).bias!.parts).toBeGreaterThan(8);
    expect(planOf(given, { ...DESKTOP, maxBufferSize: 2 ** 28 }).bias!.repeats).toEqual(planOf(given).bias!.repeats);
  });

  test("a call over a limit is refused with the limit's name", () => {
    expect(() => planOf({ shape: { keyLength: 2 ** 20 } }, SMALLEST)).toThrow(/^attentionBackward: key needs a buffer of \d+ bytes, over the device's maxStorageBufferBindingSize/); // prettier-ignore
  });
});

/** The kernels of a call, each once. */
function kernelsOf(given: Given, limits: Limits): Kernel[] {
  const { rows, queries, keys, heads, bias, tables } = planOf(given, limits);
  return [rows, queries, keys, heads, bias, bias?.sum, tables, tables?.sum]
    .filter((step) => step !== undefined)
    .map(({ kernel }) => kernel);
}

describeOnNullGpu("Dawn's validation of the kernels of gradients", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await openTestDevice(nullGpu);
  });

  const options = { softcap: 20, ...bias(1, 1, 512, 512) };
  const kernels = [SMALLEST, DESKTOP].flatMap((limits) => [
    ...kernelsOf({ wanted: [...HEADS, "dHeadGain"] }, limits),
    ...kernelsOf({ settings: options, dtype: "float16", wanted: [...HEADS, "dBias"] }, limits),
    ...kernelsOf({ settings: { score, visible, ...bias(1, 1, 512, 512) }, wanted: [...HEADS, "dBias", "dTables"] }, limits),
    ...kernelsOf({ settings: { visible }, wanted: HEADS }, limits),
  ]); // prettier-ignore
  const all = [...kernels, cleanStep("float32", 10).kernel, cleanStep("float16", 10).kernel];
  const byKey = [...new Map(all.map((kernel) => [kernelKey(kernel), kernel])).entries()];

  test.each(byKey)("accepts %s", async (_, kernel) => {
    const module = device.createShaderModule({ code: shaderSource(kernel) });
    expect((await module.getCompilationInfo()).messages.map(({ message }) => message)).toEqual([]);
  });
});
