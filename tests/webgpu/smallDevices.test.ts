// The devices that not every test has: without features and with the limits of WebGPU's standard, and with those of its
// compatibility mode (128 invocations a workgroup). Every kind of call runs there; most of the case table runs elsewhere.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, type Attention } from "headwise";

import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";
import { attentionCases } from "../web/cases.js";
import { differences } from "../web/close.js";
import { standardFormulas } from "../web/formulaTable.js";
import { randomTensor } from "../web/randomTensor.js";
import { resultProblems } from "../web/resultProblems.js";
import { ringUses } from "../web/ringUse.js";
import { describeOnGpu, gpu, plainDevice } from "./gpu.js";
import { gradientProblems } from "./gradientProblems.js";

const DEVICES = [
  ["with the limits of the standard", plainDevice, 256],
  ["with the limits of compatibility mode", openCompatible, 128],
] as const;

async function openCompatible(): Promise<GPUDevice> {
  const adapter = await gpu!.requestAdapter({ featureLevel: "compatibility" });
  return adapter!.requestDevice();
}

const every = <Item>(list: readonly Item[], step: number) => list.filter((_, n) => n % step === step - 1);
const CASES = every(attentionCases(), 25);
const BACKWARD = every(CASES, 5);
const FORMULAS = every(standardFormulas({ B: 2, Hq: 4, Hkv: 2, Sq: 2, Skv: 300 }), 6);

describeOnGpu("On a device without features", () => {
  describe.each(DEVICES)("%s,", (_, open, invocations) => {
    let device: GPUDevice;
    let hw: Attention;
    beforeAll(async () => {
      device = await open();
      hw = await createAttention({ backend: "webgpu", device });
    });
    afterAll(() => hw.dispose());

    test("the device is what this test says", () => {
      expect(device.limits.maxComputeInvocationsPerWorkgroup).toBe(invocations);
      expect(device.limits.maxComputeWorkgroupStorageSize).toBe(16384);
      expect(["shader-f16", "subgroups"].filter((name) => device.features.has(name as GPUFeatureName))).toEqual([]);
    });

    test.each(CASES)("$name is within the error model", async ({ query, key, value, options }) => {
      const result = await hw.scaledDotProductAttention(query, key, value, options);
      expect(resultProblems(result, options.returns, referenceAttention(query, key, value, options))).toEqual({});
    });

    test.each([
      ["one query", 1, 64],
      ["few queries", 5, 128],
      ["many queries, narrow", 70, 32],
      ["many queries", 70, 64],
      ["many queries, wide", 70, 128],
      ["many queries, wider", 40, 256],
    ])("attention with %s agrees with double precision", async (__, rows, width) => {
      const [query, key, value] = [
        randomTensor(1, [1, 4, rows, width]),
        randomTensor(2, [1, 2, 90, width]),
        randomTensor(3, [1, 2, 90, width]),
      ] as const;
      const returns = { output: true, lse: true, probs: true } as const;
      const options = { causal: true, softcap: 5, sinks: [0, 1, -1, 0.5] } as const;
      const result = await hw.scaledDotProductAttention(query, key, value, { ...options, returns });
      expect(resultProblems(result, returns, referenceAttention(query, key, value, options))).toEqual({});
    });

    test.each(BACKWARD)("the gradients of $name are within the error model", async (example) => {
      const { query, key, value, options, backward } = example;
      const { dOutput, returns } = backward;
      const { output, lse } = await hw.scaledDotProductAttention(query, key, value, { ...options, returns: { output: true, lse: true } }); // prettier-ignore
      const given = { query, key, value, output, lse, dOutput, ...options, returns };
      const found = await hw.attentionBackward(given);
      expect(gradientProblems(found, returns, referenceBackward(query, key, value, dOutput, options))).toEqual({});
    });

    test.each(FORMULAS)("the formula of $name agrees with the reference", async ({ options, same }) => {
      const [query, key, value] = [
        randomTensor(1, [2, 4, 2, 16], 3),
        randomTensor(2, [2, 2, 300, 16], 3),
        randomTensor(3, [2, 2, 300, 16]),
      ] as const;
      const returns = { output: true, probs: true, lse: true } as const;
      const result = await hw.scaledDotProductAttention(query, key, value, { ...options, location: "cpu", returns });
      expect(resultProblems(result, returns, referenceAttention(query, key, value, same))).toEqual({});
    });

    test.each(Object.entries(ringUses))("a cache: %s", (__, use) => use(hw));

    test("a layer with rotary positions and a norm, forward and back, agrees with wasm", async () => {
      const cpu = await createAttention({ backend: "wasm", threads: 1 });
      const weights = {
        Wq: randomTensor(1, [96, 128], 0.3),
        Wk: randomTensor(2, [96, 64], 0.3),
        Wv: randomTensor(3, [96, 64], 0.3),
        Wo: randomTensor(4, [128, 96], 0.3),
      };
      const [x, dOutput] = [randomTensor(5, [2, 40, 96]), randomTensor(6, [2, 40, 96])];
      const run = async (of: Attention) => {
        const layer = await of.multiHeadAttention({ numHeads: 4, numKvHeads: 2, weights, qkNorm: { kind: "rms" }, position: { kind: "rotary" } }); // prettier-ignore
        const { output, saved } = await layer.forward(x, { causal: true, save: true });
        const { dInput, gradients } = await layer.backward(saved, dOutput);
        layer.dispose();
        return { output, dInput, ...gradients };
      };
      const [found, right] = [await run(hw), await run(cpu)];
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
