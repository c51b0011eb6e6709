import { expectLayoutsToMix } from "../web/layouts.js";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Attention, AttentionSettingsOptions } from "headwise";
import { attention as onnxAttention, rotaryEmbedding as onnxRotary } from "headwise/onnx";

import {
  differences as onnxDifferences,
  inputsOf,
  onnxCases,
  type OnnxCase,
  type Result,
} from "../conformance/onnxCases.js";
import { attentionCases } from "../web/cases.js";
import { bits, float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

// All calls of the case table are in one file with one instance: the software adapter needs seconds to compile a pipeline,
// and each is compiled once for a device.

const RETURNS = { output: true, lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

describeOnGpu("WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  test("the report names engine and adapter", () => {
    const { backend, variant, threads, adapter } = hw.report;
    expect([backend, variant, threads]).toEqual(["webgpu", "wgsl", 0]);
    expect(adapter!.limits["maxStorageBufferBindingSize"]).toBeGreaterThanOrEqual(2 ** 27);
  });

  test.each(attentionCases())("$name is within the error model", async ({ query, key, value, options }) => {
    const result = await hw.scaledDotProductAttention(query, key, value, options);
    const reference = referenceAttention(query, key, value, options);
    expect(resultProblems(result, options.returns, reference)).toEqual({});
  });

  test("every layout of queries beside every layout of keys and values gives the same bits", () =>
    expectLayoutsToMix(hw));

  const MOST = 2 ** 31 - 1;
  const far = [MOST, 2 ** 30 + 1, 2 ** 29 + 3, 2 ** 29].flatMap((distance) => [distance, -distance]);
  const farCalls = [...far, -MOST - 1].flatMap((queryOffset): AttentionSettingsOptions[] => {
    const left = Math.min(Math.max(queryOffset - 3, 0), MOST);
    const right = Math.min(Math.max(4 - queryOffset, 0), MOST);
    const alibiSlopes = [2 ** -30, -(2 ** -28)];
    return [
      { queryOffset, window: { left, right } },
      { queryOffset, window: { left: left + (left < MOST ? 1 : 0), right: MOST }, causal: true, excludeSelf: true },
      { queryOffset, window: { left: MOST, right }, causal: "upper-left" },
      { queryOffset, alibiSlopes, window: { left: MOST } },
    ];
  });

  test("queries however far from the keys see what the formula says, to the last key", async () => {
    const tensor = (seed: number, length: number) => randomTensor(seed, [1, 2, length, 4]);
    const [query, key, value] = [tensor(1, 5), tensor(2, 9), tensor(3, 9)];
    const problems: unknown[] = [];
    for (const options of farCalls) {
      const asked = { ...options, returns: { probs: true, lse: true } } as const;
      const result = await hw.scaledDotProductAttention(query, key, value, asked);
      const found = resultProblems(result, asked.returns, referenceAttention(query, key, value, asked));
      if (Object.keys(found).length > 0) problems.push([options, found]);
    }
    expect(problems).toEqual([]);
  });

  test("so do those of ragged batches", async () => {
    const [query, key, value] = [1, 2, 3].map((seed) => randomTensor(seed, [1, 12, 2, 4])) as [Ragged, Ragged, Ragged];
    const cuSeqLens = { cuSeqLensQuery: [0, 5, 5, 12], cuSeqLensKey: [0, 4, 9, 12] };
    const problems: unknown[] = [];
    for (const options of farCalls) {
      const queryOffset = [0, options.queryOffset as number, -(options.queryOffset as number) - 1];
      const asked = { ...options, ...cuSeqLens, queryOffset, layout: "BSHD", returns: { probs: true } } as const;
      const result = await hw.scaledDotProductAttention(query, key, value, asked);
      const found = resultProblems(result, asked.returns, referenceAttention(query, key, value, asked));
      if (Object.keys(found).length > 0) problems.push([asked, found]);
    }
    expect(problems).toEqual([]);
  });

  test("the same call gives the same bits", async () => {
    const { query, key, value, options } = attentionCases().find(({ name }) => name === "decode-5000-keys-4-over-1")!;
    const run = async () => bits(await hw.scaledDotProductAttention(query, key, value, options));
    expect(await run()).toEqual(await run());
  });

  test.each([NaN, Infinity, -Infinity])(
    "%d in keys and values changes no bit of the rows that do not see it",
    async (x) => {
      const [S, D] = [70, 24];
      const numbers = (phase: number) => Float32Array.from({ length: S * D }, (_, k) => Math.sin(k + phase));
      const run = (poisoned: boolean) => {
        const fill = (data: Float32Array) => (poisoned ? data.fill(x, 40 * D, 41 * D) : data);
        const tensor = (data: Float32Array) => ({ data, shape: [S, D] });
        const options = { causal: true, returns: RETURNS } as const;
        return hw.scaledDotProductAttention(
          tensor(numbers(0)),
          tensor(fill(numbers(1))),
          tensor(fill(numbers(2))),
          options,
        );
      };
      const [clean, poisoned] = [await run(false), await run(true)];
      const before = (result: typeof clean) => ({
        output: [...float32Of(result.output).subarray(0, 40 * D)],
        lse: [...result.lse.data.subarray(0, 40)],
        entropy: [...result.entropy.data.subarray(0, 40)],
        probs: [...result.probs.data.subarray(0, 40 * S)],
      });
      expect(before(poisoned)).toEqual(before(clean));
      expect(
        float32Of(poisoned.output)
          .subarray(40 * D)
          .every(Number.isNaN),
      ).toBe(true);
    },
  );

  test("minus infinity in the bias hides, a finite minimum stays visible, plus infinity poisons its own row", async () => {
    const x = { data: Float32Array.of(1, 2, 3), shape: [3, 1] };
    const bias = { data: Float32Array.of(-3.4e38, -3.4e38, -3.4e38, 0, -Infinity, 0, 0, Infinity, 0), shape: [3, 3] };
    const { output, probs } = await hw.scaledDotProductAttention(x, x, x, { bias, scale: 0, returns: { probs: true } });
    expect([...probs.data.subarray(0, 3)].map((p) => p.toFixed(6))).toEqual(["0.333333", "0.333333", "0.333333"]);
    expect([...probs.data.subarray(3, 6)]).toEqual([0.5, 0, 0.5]);
    expect(Number.isNaN(float32Of(output)[2])).toBe(true);
  });

  test.each([
    ["sinks joined at the end", [0, 1, -Infinity, -1]],
    ["without sinks", undefined],
  ])("parts over disjoint keys merge to the whole, %s", async (_, sinks) => {
    const { query, key, value } = attentionCases().find(({ name }) => name === "grouped-4-over-2")!;
    const [, , Skv, D] = key.shape as [number, number, number, number];
    const slice = ({ data }: typeof key, from: number, to: number) => {
      const heads = [0, 1].map((g) => float32Of({ data }).subarray((g * Skv + from) * D, (g * Skv + to) * D));
      return { data: Float32Array.from(heads.flatMap((head) => [...head])), shape: [1, 2, to - from, D] };
    };
    const ranges = [[0, 5], [5, 6], [6, Skv]] as const; // oxfmt-ignore
    const parts = [];
    for (const [from, to] of ranges) {
      const [k, v] = [slice(key, from, to), slice(value, from, to)];
      parts.push(await hw.scaledDotProductAttention(query, k, v, { returns: { lse: true } }));
    }
    const merged = await hw.mergeAttention(parts, { sinks });
    const reference = referenceAttention(query, key, value, { sinks });
    expect(resultProblems({ ...merged }, { lse: true }, reference)).toEqual({});
  });

  const cases = onnxCases();
  if (!cases) test.skip("published ONNX cases (skipped: they are not on this machine, see HEADWISE_CASES)", () => {});
  else {
    const operators = { Attention: onnxAttention, RotaryEmbedding: onnxRotary } as unknown as Record<
      string,
      (hw: Attention, inputs: object, attributes: object, options: { opset: number }) => Promise<Record<string, Result>>
    >;
    const computed = cases.filter(({ op }) => op in operators);
    test.each(computed)("ONNX $name", async (example: OnnxCase) => {
      const results = await operators[example.op]!(hw, inputsOf(example), example.attributes, {
        opset: example.opset,
      });
      expect(example.outputs.flatMap((output) => onnxDifferences(results[output.name], output))).toEqual([]);
    });
  }
});

type Ragged = ReturnType<typeof randomTensor>;
