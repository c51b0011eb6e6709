// The devices that not every test has: without features and with the limits of WebGPU's compatibility mode (128 invocations
// a workgroup), and with those of its standard (256). Every kind of call runs with the lower limits; most of the case table
// runs elsewhere. With the higher ones only that runs whose kernel has another text; a test proves that no other has.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, tensor, type Attention, type CacheDtype } from "headwise";
import { formula } from "headwise/formula";

import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";
import { attentionCases } from "../web/cases.js";
import { differences } from "../web/close.js";
import { standardFormulas } from "../web/formulaTable.js";
import { randomTensor } from "../web/randomTensor.js";
import { resultProblems } from "../web/resultProblems.js";
import { ringUses } from "../web/ringUse.js";
import { prototypeOf, replace } from "./faultyGpu.js";
import { describeOnGpu, gpu, nullGpu, onPlainDevice, withEmptyKernels } from "./gpu.js";
import { gradientProblems } from "./gradientProblems.js";

async function openCompatible(): Promise<GPUDevice> {
  const adapter = await gpu!.requestAdapter({ featureLevel: "compatibility" });
  return adapter!.requestDevice();
}

function expectLimits({ limits, features }: GPUDevice, invocations: number): void {
  expect(limits.maxComputeInvocationsPerWorkgroup).toBe(invocations);
  expect(limits.maxComputeWorkgroupStorageSize).toBe(16384);
  expect(["shader-f16", "subgroups"].filter((name) => features.has(name))).toEqual([]);
}

const every = <Item>(list: readonly Item[], step: number) => list.filter((_, n) => n % step === step - 1);
const CASES = every(attentionCases(), 25);
const BACKWARD = every(CASES, 5);
const FORMULAS = every(standardFormulas({ B: 2, Hq: 4, Hkv: 2, Sq: 2, Skv: 300 }), 6);
/** The case whose rows are joined from so many parts that the workgroup has as many invocations as it may. */
const MANY_PARTS = CASES.filter(({ name }) => name === "mask-sparse-few-rows");

type Case = (typeof CASES)[number];

async function expectRight(hw: Attention, { query, key, value, options }: Case): Promise<void> {
  const result = await hw.scaledDotProductAttention(query, key, value, options);
  expect(resultProblems(result, options.returns, referenceAttention(query, key, value, options))).toEqual({});
}

/** A call of so many rows and widths of heads. */
function callOf(rows: number, width: number) {
  const given = [
    randomTensor(1, [1, 4, rows, width]),
    randomTensor(2, [1, 2, 90, width]),
    randomTensor(3, [1, 2, 90, width]),
  ] as const;
  return { given, options: { causal: true, softcap: 5, sinks: [0, 1, -1, 0.5] } as const };
}
const LOOKS = { output: true, lse: true, probs: true } as const;

const ATTENTION = [
  ["one query", 1, 64],
  ["few queries", 5, 128],
  ["many queries, narrow", 70, 32],
  ["many queries", 70, 64],
  ["many queries, wide", 70, 128],
  ["many queries, wider", 40, 256],
] as const;

const gradients = async (hw: Attention, { query, key, value, options, backward }: Case) => {
  const { dOutput, returns } = backward;
  const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...options, returns: { output: true, lse: true } }); // oxfmt-ignore
  return hw.attentionBackward({ query, key, value, output, lse, dOutput, ...options, returns });
};

const OF_FORMULAS = [
  randomTensor(1, [2, 4, 2, 16], 3),
  randomTensor(2, [2, 2, 300, 16], 3),
  randomTensor(3, [2, 2, 300, 16]),
] as const;
const withFormula = (hw: Attention, { options }: (typeof FORMULAS)[number]) =>
  hw.scaledDotProductAttention(...OF_FORMULAS, { ...options, location: "cpu", returns: LOOKS });

/** What a layer with rotary positions and a norm gives, forward and back. */
async function throughLayer(hw: Attention) {
  const weights = {
    Wq: randomTensor(1, [96, 128], 0.3),
    Wk: randomTensor(2, [96, 64], 0.3),
    Wv: randomTensor(3, [96, 64], 0.3),
    Wo: randomTensor(4, [128, 96], 0.3),
  };
  const [x, dOutput] = [randomTensor(5, [2, 40, 96]), randomTensor(6, [2, 40, 96])];
  const layer = await hw.multiHeadAttention({ numHeads: 4, numKvHeads: 2, weights, qkNorm: { kind: "rms" }, position: { kind: "rotary" } }); // oxfmt-ignore
  const { output, saved } = await layer.forward(x, { causal: true, save: true });
  const { dInput, gradients: ofWeights } = await layer.backward(saved, dOutput);
  layer.dispose();
  return { output, dInput, ...ofWeights };
}

async function throughCache(hw: Attention, dtype: CacheDtype): Promise<void> {
  for (const positions of ["text", "cache"] as const) {
    const ring = { keepFirst: 3, window: 600, positions };
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 64, dtype, rotary: {}, ring });
    for (const length of [700, 1, 20]) {
      const tokens = randomTensor(length, [1, 2, length, 64]);
      await cache.step(tokens, tokens, tokens, { causal: true, returns: LOOKS });
    }
    cache.dispose();
  }
}

/** The texts of the kernels of all calls on a device without features that computes nothing. */
async function kernelTexts(featureLevel: "core" | "compatibility", invocations: number) {
  const device = await (await nullGpu!.requestAdapter({ featureLevel }))!.requestDevice();
  expectLimits(device, invocations);
  const texts = new Map<string, string>();
  const restore = replace(
    prototypeOf("GPUDevice"),
    "createShaderModule",
    (original) =>
      function (...given) {
        const [{ code, label }] = given as [GPUShaderModuleDescriptor];
        texts.set(code, label!);
        return original.apply(this, given);
      },
  );
  const hw = await createAttention({ backend: "webgpu", device });
  for (const { query, key, value, options } of CASES) await hw.scaledDotProductAttention(query, key, value, options);
  for (const [, rows, width] of ATTENTION) {
    const { given, options } = callOf(rows, width);
    await hw.scaledDotProductAttention(...given, { ...options, returns: LOOKS });
  }
  for (const each of BACKWARD) await gradients(hw, each);
  for (const each of FORMULAS) await withFormula(hw, each);
  for (const dtype of ["float32", "float16", "int8"] as const) await throughCache(hw, dtype);
  await throughLayer(hw);
  hw.dispose();
  restore();
  device.destroy();
  return texts;
}

describeOnGpu("On a device without features", () => {
  describe("with the limits of the standard,", () => {
    let device: GPUDevice;
    let hw: Attention;
    onPlainDevice((own, instance) => {
      device = own;
      hw = instance;
    });

    test("the device is what this test says", () => expectLimits(device, 256));

    test.each(MANY_PARTS)("$name is within the error model", (each) => expectRight(hw, each));
  });

  describe("with the limits of the standard,", () => {
    withEmptyKernels();

    test("no kernel but the one that joins many parts has another text than with the limits of compatibility mode", async () => {
      const [standard, compatible] = [await kernelTexts("core", 256), await kernelTexts("compatibility", 128)];
      expect(standard.size).toBeGreaterThan(60);
      expect(standard.size).toBe(compatible.size);
      const others = [...standard].filter(([text]) => !compatible.has(text)).map(([, label]) => label);
      expect(others).toEqual(["merge_parts"]);
    });
  });

  describe("with the limits of compatibility mode,", () => {
    let device: GPUDevice;
    let hw: Attention;
    beforeAll(async () => {
      device = await openCompatible();
      hw = await createAttention({ backend: "webgpu", device });
    });
    afterAll(() => hw.dispose());

    test("the device is what this test says", () => expectLimits(device, 128));

    test.each(CASES)("$name is within the error model", (each) => expectRight(hw, each));

    test.each(ATTENTION)("attention with %s agrees with double precision", async (_, rows, width) => {
      const { given, options } = callOf(rows, width);
      const result = await hw.scaledDotProductAttention(...given, { ...options, returns: LOOKS });
      expect(resultProblems(result, LOOKS, referenceAttention(...given, options))).toEqual({});
    });

    test.each(BACKWARD)("the gradients of $name are within the error model", async (each) => {
      const { query, key, value, options, backward } = each;
      const right = referenceBackward(query, key, value, backward.dOutput, options);
      expect(gradientProblems(await gradients(hw, each), backward.returns, right)).toEqual({});
    });

    test.each(FORMULAS)("the formula of $name agrees with the reference", async (each) => {
      const right = referenceAttention(...OF_FORMULAS, each.same);
      expect(resultProblems(await withFormula(hw, each), LOOKS, right)).toEqual({});
    });

    test("few rows of which a formula keeps more than decode has room for", async () => {
      const names = Array.from({ length: 12 }, (_, n) => `t${n}`);
      const tables = Object.fromEntries(names.map((name, n) => [name, randomTensor(n, [8])]));
      const score = formula(`s + ${names.map((name, n) => `${name}[i] * (j - ${n}) / 90`).join(" + ")}`, tables);
      const { given } = callOf(4, 64); // 8 rows of a key head
      const rowOf = (i: number, j: number) =>
        names.reduce((sum, name, n) => sum + (tables[name]!.data[i]! * (j - n)) / 90, 0);
      const bias = tensor(
        Array.from({ length: 4 * 90 }, (_, n) => rowOf(Math.floor(n / 90), n % 90)),
        [4, 90],
      );
      const result = await hw.scaledDotProductAttention(...given, { score, returns: LOOKS });
      expect(resultProblems(result, LOOKS, referenceAttention(...given, { bias }))).toEqual({});
    });

    test.each(Object.entries(ringUses))("a cache: %s", (_, use) => use(hw));

    test("a layer with rotary positions and a norm, forward and back, agrees with wasm", async () => {
      const cpu = await createAttention({ backend: "wasm", threads: 1 });
      const [found, right] = [await throughLayer(hw), await throughLayer(cpu)];
      for (const [name, { data }] of Object.entries(right)) {
        const values = Float64Array.from(data);
        const largest = Math.max(...values.map(Math.abs));
        // sums of at most 160 products, one after another in four products
        const expected = { values, tolerance: values.map(() => 1e-5 * largest) };
        expect([name, differences((found as Record<string, object>)[name] as never, expected)]).toEqual([name, []]);
      }
      cpu.dispose();
    });
  });
});
