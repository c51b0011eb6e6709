// Numbers up to the largest float32 in every float input. The results are compared with a double computation of the same
// float32 numbers; where a score leaves float32, with wasm.

import { describe, expect, test } from "@jest/globals";
import { tensor, type Attention, type AttentionOptions, type Tensor } from "headwise";

import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";
import { bits, float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { resultProblems } from "../web/resultProblems.js";
import { bothEngines, describeOnGpu } from "./gpu.js";
import { gradientProblems } from "./gradientProblems.js";
import { square, weight } from "./layerWeights.js";

const MOST = 3.4028234663852886e38;
const LARGE = [2e9, 3e9, 1e10, 1e20, 1e30, 1e38, MOST];
type Options = Omit<AttentionOptions, "returns" | "location">;

/** Rows, width of heads: of the kernels decode, attend and attend_whole. */
const KERNELS = [
  ["decode", 1, 8],
  ["attend", 20, 8],
  ["attend_whole", 20, 64],
] as const;

describeOnGpu("Large numbers on WebGPU", () => {
  const engines = bothEngines();
  const returns = { output: true, probs: true, lse: true, entropy: true } as const;

  const inputs = (rows: number, width: number) => ({
    query: randomTensor(1, [1, 1, rows, width]),
    key: randomTensor(2, [1, 1, 40, width]),
    value: randomTensor(3, [1, 1, 40, 8 * Math.ceil(width / 8)]),
  });

  describe.each(KERNELS)("%s", (_, rows, width) => {
    const { query, key, value } = inputs(rows, width);
    const check = async (options: Options) => {
      const found = await engines.onGpu.scaledDotProductAttention(query, key, value, { ...options, returns });
      expect(resultProblems(found, returns, referenceAttention(query, key, value, options))).toEqual({});
    };

    test.each(LARGE)("a bias of %p on some keys, and of −%p", async (big) => {
      const bias = (of: (j: number) => number) => ({
        bias: tensor(
          Array.from({ length: 40 }, (_, j) => of(j)),
          [40],
        ),
      });
      await check(bias((j) => (j === 7 ? big : 0)));
      await check(bias((j) => (j % 3 === 0 ? -big : -big / 2)));
      await check(bias((j) => (j === 5 ? big : -big)));
      await check(bias(() => -big));
    });

    test.each([1e-50, 1e-44, 1e-39, 1e-30, 1e30, 1e37, MOST])(
      "a softcap of %p, also where q · k is 0",
      async (softcap) => {
        const first = { ...query, data: query.data.map((x, n) => (n < width ? 0 : x)) };
        const found = await engines.onGpu.scaledDotProductAttention(first, key, value, { softcap, returns });
        expect(resultProblems(found, returns, referenceAttention(first, key, value, { softcap }))).toEqual({});
        await check({ softcap });
      },
    );

    test.each(LARGE)("a sink of %p and of −%p", async (big) => {
      await check({ sinks: [big] });
      await check({ sinks: [-big] });
      await check({ sinks: [-big], bias: tensor(new Array<number>(40).fill(-big).map(Math.fround), [40]) });
    });
  });

  test.each([1e9, 1e12, 1e17])("products of queries and keys of %p times a few", async (big) => {
    for (const [, rows, width] of KERNELS) {
      const { query, key, value } = inputs(rows, width);
      const scaled = { data: query.data.map((x) => Math.fround(x * big)), shape: query.shape };
      const large = { data: key.data.map((x) => Math.fround(x * big)), shape: key.shape };
      const found = await engines.onGpu.scaledDotProductAttention(scaled, large, value, { returns });
      expect(resultProblems(found, returns, referenceAttention(scaled, large, value, {}))).toEqual({});
    }
  });

  test.each([1e-50, 1e-39, 1e-30, 1e30, 1e37, MOST])("gradients with a softcap of %p", async (softcap) => {
    const { query, key, value } = inputs(20, 8);
    query.data.fill(0, 0, 8);
    const dOutput = randomTensor(4, [1, 1, 20, 8]);
    const { output, lse } = await engines.onGpu.scaledDotProductAttention(query, key, value, { softcap, returns: { lse: true } }); // oxfmt-ignore
    const asked = { dQuery: true, dKey: true, dValue: true } as const;
    const found = await engines.onGpu.attentionBackward({ query, key, value, output, lse, dOutput, softcap, returns: asked }); // oxfmt-ignore
    expect(gradientProblems(found, asked, referenceBackward(query, key, value, dOutput, { softcap }))).toEqual({});
  });

  test.each(["rms", "l2"] as const)(
    "a head of zeros stays 0 under a norm (%s) whose epsilon is subnormal",
    async (kind) => {
      const { bq: _bias, ...weights } = square(16);
      const zeros = tensor(new Float32Array(5 * 16), [1, 5, 16]);
      for (const hw of [engines.onGpu, engines.onCpu]) {
        using layer = await hw.multiHeadAttention({ numHeads: 2, qkNorm: { kind, epsilon: 1e-40 }, weights });
        const { probs } = await layer.forward(zeros, { returns: { output: true, probs: true } });
        expect([...new Set(float32Of(probs))]).toEqual([Math.fround(1 / 5)]);
      }
    },
  );

  // A norm does not see the size of its heads: no bit of it changes if the weights and epsilon are times a power of two.
  describe.each([
    ["rms", 0.5, 2, 62],
    ["rms", 0, 2, 70],
    ["l2", 2, 1, 70],
  ] as const)("heads under a norm (%s, epsilon %p)", (kind, epsilon, degree, power) => {
    /** What computes the heads, rows, inputs, width of a head. */
    test.each([
      ["project_rows", 1, 16, 16],
      ["project_rows and project_sum", 2, 512, 16],
      ["project_rows with wide tiles", 3, 16, 128],
      ["project", 20, 16, 8],
      ["project and project_sum", 20, 512, 8],
      ["project with wide tiles", 20, 16, 128],
      ["turn_heads", 3, 16, 6],
      ["turn_heads, many rows", 20, 16, 160],
    ] as const)("%s: heads times 2 to the power of ±" + power, async (_, rows, inputs, width) => {
      const x = randomTensor(1, [1, rows, inputs]);
      const bias = randomTensor(6, [2 * width]);
      const scaled = { Wq: weight(2, inputs, 2 * width), bq: bias, Wk: weight(3, inputs, 2 * width), bk: bias };
      const others = { Wv: weight(4, inputs, 2 * width), Wo: weight(7, 2 * width, inputs) };
      const dOutput = randomTensor(5, [1, rows, inputs]);
      const found = async (hw: Attention, factor: number) => {
        const times = ({ data, shape }: Tensor<"float32">) => ({ data: data.map((n) => n * factor), shape });
        const weights = { ...others, Wq: times(scaled.Wq), bq: times(bias), Wk: times(scaled.Wk), bk: times(bias) };
        const qkNorm = { kind, epsilon: epsilon * factor ** degree };
        using layer = await hw.multiHeadAttention({ numHeads: 2, qkNorm, position: { kind: "rotary" }, weights }); // oxfmt-ignore
        const { query, output, saved } = await layer.forward(x, { save: true, returns: { query: true } });
        const { gradients } = await layer.backward(saved, dOutput);
        const usual = (name: "Wq" | "bq" | "Wk" | "bk") => float32Of(gradients[name]!).map((n) => n * factor);
        return {
          query: query.data,
          output: output.data,
          Wq: usual("Wq"),
          bq: usual("bq"),
          Wk: usual("Wk"),
          bk: usual("bk"),
        };
      };
      for (const hw of [engines.onGpu, engines.onCpu]) {
        const usual = bits(await found(hw, 1));
        for (const factor of [2 ** power, 2 ** -power]) {
          const large = bits(await found(hw, factor));
          expect(Object.keys(usual).filter((name) => usual[name] !== large[name])).toEqual([]);
        }
      }
    });
  });

  test("gradients of rows whose scores are far beyond 2³¹", async () => {
    for (const big of LARGE.slice(0, -1)) {
      const { query, key, value } = inputs(20, 8);
      const dOutput = randomTensor(4, [1, 1, 20, 8]);
      const options = { bias: tensor(Array.from({ length: 40 }, (_, j) => -big * (1 + (j % 4))).map(Math.fround), [40]), sinks: [-MOST] }; // oxfmt-ignore
      if (big > 1e37) continue; // 4e38 is no float32
      const wanted = { output: true, lse: true } as const;
      const { output, lse } = await engines.onGpu.scaledDotProductAttention(query, key, value, { ...options, returns: wanted }); // oxfmt-ignore
      const asked = { dQuery: true, dKey: true, dValue: true, dSinks: true } as const;
      const found = await engines.onGpu.attentionBackward({ query, key, value, output, lse, dOutput, ...options, returns: asked }); // oxfmt-ignore
      expect(gradientProblems(found, asked, referenceBackward(query, key, value, dOutput, options))).toEqual({});
    }
  });

  describe.each([
    ["20 × 40 × 8", 20, 8],
    ["1 × 40 × 8", 1, 8],
    ["20 × 40 × 64", 20, 64],
  ])("rows of %s that a finite bias hides or lifts", (_, rows, width) => {
    const { query, key, value } = inputs(rows, width);
    const dOutput = randomTensor(4, [1, 1, rows, value.shape[3]!]);
    const asked = { dQuery: true, dKey: true, dValue: true, dSinks: true, dBias: true } as const;

    test.each<[string, Options]>([
      ...[-1e4, -1e6, -1e9, -MOST, 1e9].map((size): [string, Options] => [
        `${size} on every key`,
        { bias: tensor(new Array<number>(40).fill(size), [40]), sinks: [Math.fround(size)] },
      ]),
      ["−1e9 on every key of some rows", { bias: { data: Float32Array.from({ length: rows * 40 }, (__, n) => (Math.floor(n / 40) % 3 === 0 ? -1e9 : 0)), shape: [rows, 40] }, sinks: [-MOST] }],
      ["a causal diagonal and −1e9", { bias: tensor(new Array<number>(40).fill(-1e9), [40]), causal: true, sinks: [-MOST] }],
    ])("%s: gradients are those of weights that sum to 1", async (__, options) => {
      const wanted = { output: true, lse: true } as const;
      const { output, lse } = await engines.onGpu.scaledDotProductAttention(query, key, value, { ...options, returns: wanted });
      const given = { query, key, value, output, lse, dOutput, ...options, returns: asked };
      const [gpu, cpu] = await Promise.all([engines.onGpu, engines.onCpu].map((hw) => hw.attentionBackward(given)));
      expect(gradientProblems(gpu!, asked, referenceBackward(query, key, value, dOutput, options))).toEqual({});
      // The reference allows for what float32 loses of such an lse. wasm computes it again.
      for (const name of Object.keys(asked) as (keyof typeof asked)[]) {
        const [found, right] = [float32Of(gpu![name]), float32Of(cpu![name])];
        const largest = Math.max(...right.map(Math.abs));
        expect(Math.max(...found.map((x, n) => Math.abs(x - right[n]!)))).toBeLessThanOrEqual(1e-5 * largest);
      }
    });
  }); // oxfmt-ignore

  test.each([1e10, 1e30, MOST])("merging results whose lse are ±%p", async (big) => {
    const part = (lse: number, seed: number) => ({
      output: randomTensor(seed, [1, 1, 1, 8]),
      lse: { data: Float32Array.of(lse), shape: [1, 1, 1] },
    });
    for (const [a, b] of [[big, -big], [-big, big], [big, big / 2], [-big, -big]] as const) {
      const parts = [part(a, 1), part(b, 2)];
      const [gpu, cpu] = await Promise.all([engines.onGpu, engines.onCpu].map((hw) => hw.mergeAttention(parts)));
      expect(float32Of(gpu!.lse)).toEqual(float32Of(cpu!.lse));
      const apart = float32Of(gpu!.output).map((x, n) => Math.abs(x - float32Of(cpu!.output)[n]!));
      expect(Math.max(...apart)).toBeLessThanOrEqual(1e-6);
    }
  }); // oxfmt-ignore

  test.each([NaN, Infinity, -Infinity])(
    "a part with %p reaches the merged row, however little it weighs",
    async (special) => {
      const part = (lse: number, value: number) => ({
        output: { data: Float32Array.of(value, 1), shape: [1, 1, 1, 2] },
        lse: { data: Float32Array.of(lse), shape: [1, 1, 1] },
      });
      for (const below of [0, 50, 110, 700]) {
        const parts = [part(3, 2), part(3 - below, special)];
        const [gpu, cpu] = await Promise.all([engines.onGpu, engines.onCpu].map((hw) => hw.mergeAttention(parts)));
        expect(float32Of(cpu!.output)).toEqual(Float32Array.of(special, 1));
        expect(float32Of(gpu!.output)).toEqual(Float32Array.of(special, 1));
        expect(float32Of(gpu!.lse)).toEqual(float32Of(cpu!.lse));
      }
      const unseen = [part(3, 2), part(-Infinity, special)];
      for (const hw of [engines.onGpu, engines.onCpu])
        expect(float32Of((await hw.mergeAttention(unseen)).output)).toEqual(Float32Array.of(2, 1));
    },
  );

  test.each([2, 1e20, 1e38, MOST, -MOST])("a scale of %p gives every score that float32 holds", async (scale) => {
    for (const [, rows, width] of KERNELS) {
      const { query, key, value } = inputs(rows, width);
      const large = { data: query.data.map((x) => 8 * x), shape: query.shape }; // times the scale beyond float32
      const small = { data: key.data.map((x) => x / 4096), shape: key.shape };
      for (const options of [{ scale }, { scale, softcap: 30 }]) {
        const wanted = referenceAttention(large, small, value, options);
        for (const hw of [engines.onGpu, engines.onCpu]) {
          const found = await hw.scaledDotProductAttention(large, small, value, { ...options, returns });
          expect(resultProblems(found, returns, wanted)).toEqual({});
        }
      }
    }
  });

  test.each([3, 1e30, -1e30])("gradients with a scale of %p", async (scale) => {
    const { query, key, value } = inputs(20, 8);
    const small = { data: key.data.map((x) => x / scale), shape: key.shape };
    const given = { query, key: small, value, dOutput: randomTensor(4, [1, 1, 20, 8]) };
    const asked = { dQuery: true, dKey: true, dValue: true } as const;
    for (const options of [{ scale }, { scale, softcap: 2 }]) {
      const wanted = referenceBackward(query, small, value, given.dOutput, options);
      for (const hw of [engines.onGpu, engines.onCpu]) {
        const forward = await hw.scaledDotProductAttention(query, small, value, { ...options, returns: { lse: true } });
        const found = await hw.attentionBackward({ ...given, ...forward, ...options, returns: asked });
        expect(gradientProblems(found, asked, wanted)).toEqual({});
      }
    }
  });

  // Of four keys in turn: the first overflows upwards, or none does, and the last one overflows downwards.
  test.each<[string, number, number, (from: (key: number) => number) => number]>([
    ["above float32 poisons its row", 1, 0, () => NaN],
    ["below float32 weighs nothing", 0, 0, (of) => (of(0) + of(1) + of(2)) / 3],
    ["below float32 in every key leaves no weights", -1, -1, () => NaN],
    ["beyond float32 has the softcap", 1, 2, (of) => (of(0) * Math.exp(2) + of(1) + of(2) + of(3) * Math.exp(-2)) / (Math.exp(2) + 2 + Math.exp(-2))],
  ])("a score %s", async (_, first, softcap, expected) => {
    for (const rows of [1, 20])
      for (const width of [8, 64])
        for (const keys of [4, 64]) {
          const query = { data: new Float32Array(rows * width).fill(2), shape: [1, 1, rows, width] };
          const every = softcap < 0 ? [-1, -1, -1, -1] : [first, 0, 0, -1];
          const key = { data: Float32Array.from({ length: keys * width }, (__, n) => every[Math.floor(n / width) % 4]!), shape: [1, 1, keys, width] };
          const value = { data: Float32Array.from({ length: keys * 4 }, (__, n) => 1 << (Math.floor(n / 4) % 4)), shape: [1, 1, keys, 4] };
          const options = { scale: MOST, softcap: Math.max(softcap, 0) };
          for (const hw of [engines.onCpu, engines.onGpu]) {
            const { output } = await hw.scaledDotProductAttention(query, key, value, options);
            const wanted = expected((n) => 1 << n);
            for (const x of float32Of(output)) {
              if (Number.isNaN(wanted)) expect([rows, width, keys, x]).toEqual([rows, width, keys, NaN]);
              else expect(Math.abs(x - wanted)).toBeLessThanOrEqual(1e-5 * wanted);
            }
          }
        }
  }); // oxfmt-ignore

  // Each product is beyond float32, so the score is infinite, or no number where both signs meet.
  test.each([
    ["decode", 1, 8],
    ["attend", 20, 8],
    ["attend_whole, by its rules and without", 20, 64],
  ])("%s: rows whose scores overflow in both directions are NaN", async (_, rows, width) => {
    const signs = (seed: number, rowCount: number) => {
      const { data, shape } = randomTensor(seed, [1, 1, rowCount, width]);
      return { data: data.map((x) => (x < 0 ? -1e20 : 1e20)), shape };
    };
    for (const keys of [1, 40, 64]) {
      const value = randomTensor(3, [1, 1, keys, width]);
      for (const hw of [engines.onGpu, engines.onCpu]) {
        const found = await hw.scaledDotProductAttention(signs(1, rows), signs(2, keys), value, { returns });
        for (const name of ["output", "lse", "entropy", "probs"] as const)
          expect([keys, name, [...new Set(float32Of(found[name]))]]).toEqual([keys, name, [NaN]]);
      }
    }
  });

  // Scores that leave float32: above they poison the row, below they weigh nothing, as on wasm.
  test.each<[string, number, number, number[]]>([
    ["one score overflows upwards", 1.8e19, 1, [3e38, 0, 0]],
    ["one score overflows downwards", 1.8e19, 1, [0, 0, -3e38]],
    ["all scores overflow downwards", -1.8e19, 0, [-3e38, -3e38, -3e38]],
  ])("%s: as on wasm", async (_, x, turn, bias) => {
    for (const rows of [1, 20])
      for (const width of [8, 64]) {
        const first = (rowCount: number, of: (row: number) => number) => {
          const data = new Float32Array(rowCount * width);
          for (let row = 0; row < rowCount; ++row) data[row * width] = of(row);
          return { data, shape: [1, 1, rowCount, width] };
        };
        const query = first(rows, () => x);
        const key = first(3, (j) => 1.8e19 * (turn === 0 ? 1 : 1 - j));
        const value = randomTensor(3, [1, 1, 3, width]);
        const options = { bias: tensor(bias, [3]), scale: 1, returns: { output: true, probs: true } } as const;
        const [gpu, cpu] = await Promise.all(
          [engines.onGpu, engines.onCpu].map((hw) => hw.scaledDotProductAttention(query, key, value, options)),
        );
        expect([rows, width, float32Of(gpu!.output)]).toEqual([rows, width, float32Of(cpu!.output)]);
      }
  });
});
