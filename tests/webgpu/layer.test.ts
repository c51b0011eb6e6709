import { expect, test } from "@jest/globals";
import {
  EmptyRowError,
  type Attention,
  type ForwardOptions,
  type KvCacheOptions,
  type LayerOptions,
  type Tensor,
} from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import { differences, valuesOf } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { exactRow, referenceLayer } from "../web/referenceLayer.js";
import { bothEngines, describeOnGpu } from "./gpu.js";

const weight = (seed: number, rows: number, columns: number) =>
  randomTensor(seed, [rows, columns], Math.sqrt(3 / rows));
const square = (width: number) => ({
  Wq: weight(1, width, width),
  bq: randomTensor(2, [width]),
  Wk: weight(3, width, width),
  bk: randomTensor(4, [width]),
  Wv: weight(5, width, width),
  bv: randomTensor(6, [width]),
  Wo: weight(7, width, width),
  bo: randomTensor(8, [width]),
});

/**
 * The largest difference between two engines: each has an error of at most this share of the largest output (sums of at
 * most 64 products).
 */
const SHARE = 5e-6;

describeOnGpu("multiHeadAttention on WebGPU", () => {
  const engines = bothEngines();

  const run = async (hw: Attention, options: LayerOptions, x: Tensor<"float32" | "float16">, given: ForwardOptions) => {
    const layer = await hw.multiHeadAttention(options);
    const result = await layer.forward(x, given);
    layer.dispose();
    return result;
  };

  test("the formula holds", async () => {
    const weights = { ...square(24), Wo: weight(7, 24, 10), bo: randomTensor(8, [10]) };
    const x = randomTensor(9, [2, 7, 24]);
    const { output } = await run(engines.onGpu, { inputDim: 24, outputDim: 10, numHeads: 3, weights }, x, {});
    expect(output.shape).toEqual([2, 7, 10]);
    const rows = [0, 1].flatMap((b) => {
      const tokens = Array.from({ length: 7 }, (_, s) =>
        exactRow(x.data.subarray((b * 7 + s) * 24, (b * 7 + s + 1) * 24)),
      );
      return referenceLayer({ numHeads: 3, ...weights }, tokens).flat();
    });
    const expected = {
      values: Float64Array.from(rows, ({ value }) => value),
      tolerance: Float64Array.from(rows, ({ error }) => error),
    };
    expect(differences(output, expected)).toEqual([]);
  });

  const x = randomTensor(9, [2, 40, 24]);
  const columns = randomTensor(9, [2, 24, 40]);
  const halves = { data: toHalves(x.data), shape: x.shape };
  const odd = { Wq: weight(1, 24, 21), Wk: weight(2, 20, 7), Wv: weight(3, 30, 5) };
  const cases: [string, LayerOptions, Tensor<"float32" | "float16">, ForwardOptions][] = [
    ["masks and every statistic", { inputDim: 24, numHeads: 3, weights: square(24) }, x, { causal: true, window: { left: 20 }, returns: { probs: true, lse: true, entropy: true } }],
    ["padding and its lengths", { inputDim: 24, numHeads: 3, weights: square(24) }, x, { keyLengths: [40, 11], queryLengths: [40, 11], causal: true }],
    ["widths of their own, no output projection", { inputDim: 24, keyInputDim: 20, valueInputDim: 30, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, outputProjection: false, weights: odd }, x, { key: randomTensor(10, [2, 13, 20]), value: randomTensor(11, [2, 13, 30]) }],
    ["rotary positions and an rms norm", { inputDim: 24, numHeads: 3, weights: square(24), qkNorm: { kind: "rms", gain: randomTensor(12, [8]).data }, position: { kind: "rotary", base: 500 } }, x, { causal: true }],
    ["interleaved rotary and an l2 norm", { inputDim: 24, numHeads: 2, weights: square(24), qkNorm: { kind: "l2" }, position: { kind: "rotary", rotaryDim: 4, interleaved: true } }, x, { queryOffset: [3, 5] }],
    ["learned positions", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "learned", table: randomTensor(13, [50, 24]) } }, x, {}],
    ["sinusoidal positions", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "sinusoidal", split: "halves" } }, x, { queryOffset: 2 }],
    ["columns", { inputDim: 24, numHeads: 3, layout: "BES", weights: square(24) }, columns, { causal: true }],
    ["float16", { inputDim: 24, numHeads: 3, weights: square(24) }, halves, {}],
  ]; // prettier-ignore

  test.each(cases)("%s agree with wasm", async (_, options, input, given) => {
    const actual = await run(engines.onGpu, options, input, given);
    const expected = await run(engines.onCpu, options, input, given);
    expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, tensor] of Object.entries(expected) as [keyof typeof expected, Tensor][]) {
      const values = Float64Array.from(valuesOf(tensor));
      const largest = Math.max(...values.map(Math.abs));
      const ulp = tensor.dtype === "float16" ? 2 ** -10 : 0;
      const tolerance = values.map((value) => SHARE * largest + ulp * Math.abs(value));
      expect([name, differences(actual[name] as Tensor, { values, tolerance })]).toEqual([name, []]);
      expect((actual[name] as Tensor).shape).toEqual(tensor.shape);
    }
  });

  const cached: [string, LayerOptions, Partial<KvCacheOptions>][] = [
    ["a float32 cache", { inputDim: 24, numHeads: 3, weights: square(24) }, {}],
    ["a rotary layer", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "rotary", base: 500 } }, { ring: { keepFirst: 1, window: 6 } }],
    ["a rotary int8 cache", { inputDim: 24, numHeads: 3, weights: square(24), qkNorm: { kind: "rms" } }, { dtype: "int8", rotary: { base: 500 } }],
    ["learned positions and other widths", { inputDim: 24, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, weights: { Wq: weight(1, 24, 21), Wk: weight(2, 24, 7), Wv: weight(3, 24, 5), Wo: weight(4, 15, 24) }, position: { kind: "learned", table: randomTensor(13, [50, 24]) } }, { headDim: 7, valueDim: 5, numKvHeads: 1, dtype: "float16" }],
  ]; // prettier-ignore

  test.each(cached)("token by token with %s agrees with wasm", async (_, options, form) => {
    const steps = async (hw: Attention) => {
      const layer = await hw.multiHeadAttention(options);
      const cache = await hw.kvCache({ batchSize: 2, numKvHeads: 3, headDim: 8, ...form });
      const results = [];
      for (const [step, length] of [5, 1, 1, 3].entries())
        results.push(await layer.forward(randomTensor(20 + step, [2, length, 24]), { cache, causal: true }));
      for (const lengths of [{ queryLengths: [3, 1] }, { appendLengths: [1, 2] }])
        results.push(await layer.forward(randomTensor(29, [2, 3, 24]), { cache, causal: true, ...lengths }));
      results.push(await layer.forward(randomTensor(30, [2, 2, 24]), { cache, attendOnly: true }));
      results.push(await layer.forward(randomTensor(31, [2, 3, 24]), { cache, appendLengths: [3, 1], queryOffset: 2 }));
      const outputs = results.map(({ output }) => output);
      const state = { appended: cache.appended, lengths: cache.lengths };
      layer.dispose();
      cache.dispose();
      return { outputs, state };
    };
    const [actual, expected] = [await steps(engines.onGpu), await steps(engines.onCpu)];
    expect(actual.state).toEqual(expected.state);
    expected.outputs.forEach((tensor, n) => {
      const values = Float64Array.from(valuesOf(tensor));
      const tolerance = new Float64Array(values.length).fill(SHARE * Math.max(...values.map(Math.abs)));
      expect([n, differences(actual.outputs[n], { values, tolerance })]).toEqual([n, []]);
    });
  });

  test("a forward that fails leaves its cache as it was", async () => {
    const layer = await engines.onGpu.multiHeadAttention({ inputDim: 24, numHeads: 3, weights: square(24) });
    const cache = await engines.onGpu.kvCache({ numKvHeads: 3, headDim: 8 });
    await layer.forward(randomTensor(1, [1, 4, 24]), { cache });
    const before = await cache.save();
    const given = { cache, causal: true, queryOffset: -3, emptyRows: "throw" } as const;
    const reason: unknown = await layer.forward(randomTensor(2, [1, 70, 24]), given).catch((error: unknown) => error);
    expect(EmptyRowError.is(reason)).toBe(true);
    expect(Buffer.compare(await cache.save(), before)).toBe(0);
    layer.dispose();
    cache.dispose();
  });
});

function toHalves(numbers: Float32Array): Uint16Array {
  const view = new DataView(new ArrayBuffer(2 * numbers.length));
  numbers.forEach((x, k) => setFloat16(view, 2 * k, x, true));
  return new Uint16Array(view.buffer);
}
