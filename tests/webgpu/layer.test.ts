import { describe, expect, test } from "@jest/globals";
import {
  EmptyRowError,
  quantizeWeight,
  toBfloat16,
  toFloat32,
  type Attention,
  type ForwardOptions,
  type KvCacheOptions,
  type LayerOptions,
  type LayerWeights,
  type Tensor,
  type TypedTensor,
} from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import { differences, valuesOf } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import type { Expected } from "../attention-conformance/reference/reference.js";
import { exactRow, referenceLayer, type ReferenceLayer } from "../web/referenceLayer.js";
import { bothEngines, describeOnGpu } from "./gpu.js";
import { square, weight } from "./layerWeights.js";

/** A weight [in, out] as a layer keeps it in int8. */
function throughInt8(tensor: Tensor<"float32">): Tensor<"float32"> {
  const { data, shape, scales } = quantizeWeight(tensor);
  return { data: Float32Array.from(data, (q, n) => q * scales[n % scales.length]!), shape };
}

/** Options of a call whose results come to the CPU. */
type CpuOptions = Omit<ForwardOptions, "location">;

/**
 * The largest difference between two engines: each has an error of at most this share of the largest output (sums of at
 * most 64 products).
 */
const SHARE = 5e-6;

describeOnGpu("multiHeadAttention on WebGPU", () => {
  const engines = bothEngines();

  const run = async (hw: Attention, options: LayerOptions, x: Tensor<"float32" | "float16">, given: CpuOptions) => {
    const layer = await hw.multiHeadAttention(options);
    const result = await layer.forward(x, given);
    layer.dispose();
    return result;
  };

  const expectSameAsWasm = async (options: LayerOptions, input: Tensor<"float32" | "float16">, given: CpuOptions) => {
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
  };

  test.each(["float16", "bfloat16"] as const)("weights kept in %s give what wasm gives", async (weightDtype) => {
    const options = { inputDim: 24, numHeads: 3, weights: square(24), weightDtype } as const;
    for (const length of [1, 20]) await expectSameAsWasm(options, randomTensor(9, [2, length, 24]), {});
  });

  test("weights of bfloat16 have the bits of the widened ones, kept in any dtype, in fewer bytes", async () => {
    const given = Object.fromEntries(Object.entries(square(24)).map(([name, t]) => [name, toBfloat16(t)]));
    const widened = Object.fromEntries(Object.entries(given).map(([name, t]) => [name, toFloat32(t)]));
    const x = randomTensor(9, [2, 20, 24]);
    const bytes: number[] = [];
    for (const weightDtype of ["float32", "bfloat16", undefined, "float16", "int8"] as const) {
      const options = { inputDim: 24, numHeads: 3, weightDtype } as const;
      using layer = await engines.onGpu.multiHeadAttention({ ...options, weights: given });
      using other = await engines.onGpu.multiHeadAttention({ ...options, weights: widened });
      expect((await layer.forward(x)).output).toEqual((await other.forward(x)).output);
      bytes.push(layer.bytes);
    }
    expect(bytes[1]).toBeLessThan(bytes[0]!);
    expect([bytes[2], bytes[3]]).toEqual([bytes[1], bytes[1]]);
  });

  describe("weights kept in int8", () => {
    const int8 = { numHeads: 3, weightDtype: "int8" } as const;

    test.each([1, 8, 20])("are those of quantizeWeight: the formula holds for %i tokens", async (length) => {
      const weights = { ...square(24), Wo: weight(7, 24, 10), bo: randomTensor(8, [10]) };
      const rounded = Object.fromEntries(
        Object.entries(weights).map(([name, tensor]) => [name, name.startsWith("W") ? throughInt8(tensor) : tensor]),
      ) as unknown as typeof weights;
      const x = randomTensor(9, [1, length, 24]);
      const { output } = await run(engines.onGpu, { ...int8, inputDim: 24, outputDim: 10, weights }, x, {});
      const { values, tolerance } = formulaOf({ numHeads: 3, ...rounded }, x);
      // Each weight is rounded once more, and each sum is scaled: sums of 24 products become sums of 26 at most.
      expect(differences(output, { values, tolerance: tolerance.map((t) => t * (1 + 2 / 24)) })).toEqual([]);
    });

    const packed = {
      in_proj_weight: weight(1, 72, 24),
      in_proj_bias: randomTensor(2, [72]),
      "out_proj.weight": weight(7, 24, 24),
    };
    const Wqkv = weight(1, 24, 72);
    const halves = { Wqkv: { data: toHalves(Wqkv.data), shape: Wqkv.shape }, Wo: weight(7, 24, 24) };
    const deep = { Wq: weight(1, 1100, 24), Wk: weight(2, 1100, 24), Wv: weight(3, 1100, 24), Wo: weight(4, 24, 9) };
    const bare = { Wq: weight(1, 24, 24), Wk: weight(2, 24, 24), Wv: weight(3, 24, 24) };
    const inside = { contributions: true, headOutputs: true, query: true };
    test.each<readonly [string, LayerOptions, readonly number[], CpuOptions]>([
      ["packed as PyTorch has them", { ...int8, weights: packed }, [2, 5, 24], {}],
      ["of float16, packed", { ...int8, weights: halves }, [2, 20, 24], {}],
      ["of great depth, few rows", { ...int8, inputDim: 1100, weights: deep }, [1, 3, 1100], {}],
      ["of great depth, many rows", { ...int8, inputDim: 1100, weights: deep }, [1, 40, 1100], {}],
      [
        "with norm and rotary positions",
        { ...int8, weights: square(24), qkNorm: { kind: "rms" }, position: { kind: "rotary" } },
        [2, 20, 24],
        { causal: true },
      ],
      [
        "whose shares are shown",
        { ...int8, weights: square(24) },
        [2, 7, 24],
        { returns: { output: true, ...inside } },
      ],
      ["without output projection", { ...int8, weights: bare, outputProjection: false }, [1, 7, 24], {}],
    ])("%s, give what wasm gives", async (_, options, shape, given) => {
      await expectSameAsWasm(options, randomTensor(9, [...shape]), given);
    });

    test("give the gradients that wasm gives, and new ones are rounded too", async () => {
      const [before, after] = [square(24), { Wk: weight(30, 24, 24), bq: randomTensor(31, [24]) }];
      const [x, dOutput] = [randomTensor(9, [1, 5, 24]), randomTensor(10, [1, 5, 24])];
      const gradientsOn = async (hw: Attention) => {
        using layer = await hw.multiHeadAttention({ ...int8, weights: before });
        await layer.update(after);
        const { output, saved } = await layer.forward(x, { save: true });
        const { dInput, gradients } = await layer.backward(saved, dOutput);
        saved.dispose();
        return { output, dInput, ...gradients } as Record<string, Tensor<"float32">>;
      };
      const [actual, expected] = [await gradientsOn(engines.onGpu), await gradientsOn(engines.onCpu)];
      for (const [name, { data }] of Object.entries(expected)) {
        // bk moves all scores of a row alike, so its gradient is 0: rounded sums of terms of about 1
        const share = 4 * SHARE * Math.max(...data.map(Math.abs), 1);
        const near = { values: Float64Array.from(data), tolerance: Float64Array.from(data, () => share) };
        expect([name, differences(actual[name], near)]).toEqual([name, []]);
      }
    });

    test("take a quarter of the bytes", async () => {
      const weights = square(128);
      const bytesOf = async (weightDtype: "float32" | "int8") => {
        using layer = await engines.onGpu.multiHeadAttention({ numHeads: 2, weights, weightDtype });
        return layer.bytes;
      };
      const columns = 4 * 128;
      // bias and gain of each column are there in both; int8 has a scale too
      expect(await bytesOf("float32")).toBe(4 * 128 * columns + 8 * columns);
      expect(await bytesOf("int8")).toBe(128 * columns + 12 * columns);
    });
  });

  test("the formula holds", async () => {
    const weights = { ...square(24), Wo: weight(7, 24, 10), bo: randomTensor(8, [10]) };
    const x = randomTensor(9, [2, 7, 24]);
    const { output } = await run(engines.onGpu, { inputDim: 24, outputDim: 10, numHeads: 3, weights }, x, {});
    expect(output.shape).toEqual([2, 7, 10]);
    expect(differences(output, formulaOf({ numHeads: 3, ...weights }, x))).toEqual([]);
  });

  const x = randomTensor(9, [2, 40, 24]);
  const columns = randomTensor(9, [2, 24, 40]);
  const halves = { data: toHalves(x.data), shape: x.shape };
  const odd = { Wq: weight(1, 24, 21), Wk: weight(2, 20, 7), Wv: weight(3, 30, 5) };
  const cases: [string, LayerOptions, Tensor<"float32" | "float16">, CpuOptions][] = [
    ["masks and every statistic", { inputDim: 24, numHeads: 3, weights: square(24) }, x, { causal: true, window: { left: 20 }, returns: { probs: true, lse: true, entropy: true } }],
    ["padding and its lengths", { inputDim: 24, numHeads: 3, weights: square(24) }, x, { keyLengths: [40, 11], queryLengths: [40, 11], causal: true }],
    ["widths of their own, no output projection", { inputDim: 24, keyInputDim: 20, valueInputDim: 30, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, outputProjection: false, weights: odd }, x, { key: randomTensor(10, [2, 13, 20]), value: randomTensor(11, [2, 13, 30]) }],
    ["rotary positions and an rms norm", { inputDim: 24, numHeads: 3, weights: square(24), qkNorm: { kind: "rms", gain: randomTensor(12, [8]).data }, position: { kind: "rotary", base: 500 } }, x, { causal: true }],
    ["interleaved rotary and an l2 norm", { inputDim: 24, numHeads: 2, weights: square(24), qkNorm: { kind: "l2" }, position: { kind: "rotary", rotaryDim: 4, interleaved: true } }, x, { queryOffset: [3, 5] }],
    ["learned positions", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "learned", table: randomTensor(13, [50, 24]) } }, x, {}],
    ["sinusoidal positions", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "sinusoidal", split: "halves" } }, x, { queryOffset: 2 }],
    ["columns", { inputDim: 24, numHeads: 3, layout: "BES", weights: square(24) }, columns, { causal: true }],
    ["float16", { inputDim: 24, numHeads: 3, weights: square(24) }, halves, {}],
  ]; // oxfmt-ignore

  test.each(cases)("%s agree with wasm", async (_, options, input, given) => {
    await expectSameAsWasm(options, input, given);
  });

  /** Weights of a layer with heads of this width, as a query of `width` numbers. */
  const narrow = (inputDim: number, width: number, outputDim = inputDim) => ({
    Wq: weight(1, inputDim, width),
    bq: randomTensor(2, [width]),
    Wk: weight(3, inputDim, width),
    Wv: weight(5, inputDim, width),
    bv: randomTensor(6, [width]),
    Wo: weight(7, width, outputDim),
    bo: randomTensor(8, [outputDim]),
  });
  const gain = { query: randomTensor(41, [128]).data, key: randomTensor(42, [128]).data };
  const gains = (width: number) => ({ query: gain.query.slice(0, width), key: gain.key.slice(0, width) });

  /** Widths of heads, and how their norm and rotary embedding are computed. */
  const ends: [string, number, LayerOptions["position"], LayerOptions["qkNorm"]][] = [
    ["heads of a tile", 64, { kind: "rotary" }, { kind: "rms", gain: gains(64) }],
    ["heads of a wide tile", 128, { kind: "rotary" }, { kind: "rms", gain: gains(128) }],
    ["heads of a wide tile, interleaved", 128, { kind: "rotary", interleaved: true }, { kind: "l2", gain: gains(128) }],
    ["two heads in a tile", 32, { kind: "rotary", rotaryDim: 20 }, { kind: "l2", gain: gains(32) }],
    ["heads across tiles without a norm", 40, { kind: "rotary" }, undefined],
    ["heads of odd width without a norm", 15, { kind: "rotary", rotaryDim: 10 }, undefined],
    ["heads of odd width without a norm, interleaved", 9, { kind: "rotary", rotaryDim: 6, interleaved: true }, undefined],
    ["heads across tiles with a norm", 40, { kind: "rotary", rotaryDim: 36 }, { kind: "rms", gain: gains(40) }],
    ["heads across tiles with a norm, interleaved", 12, { kind: "rotary", interleaved: true }, { kind: "l2" }],
    ["a norm alone", 24, undefined, { kind: "rms", gain: gains(24) }],
    ["a norm alone, in the store", 16, undefined, { kind: "l2", gain: gains(16) }],
  ]; // oxfmt-ignore

  test.each(ends.flatMap((end) => [1, 3, 19, 65].map((rows) => [...end, rows] as const)))(
    "%s of %i features agree with wasm, case %#",
    async (_, width, position, qkNorm, rows) => {
      const options: LayerOptions = {
        inputDim: 20,
        modelDim: 3 * width,
        numHeads: 3,
        weights: narrow(20, 3 * width),
        ...(position && { position }),
        ...(qkNorm && { qkNorm }),
      };
      const tokens = randomTensor(rows, [1, rows, 20]);
      await expectSameAsWasm(options, tokens, { causal: true, queryOffset: 2 });
    },
  );

  const shapes: [string, LayerOptions, Tensor<"float32" | "float16">, CpuOptions][] = [
    ["odd widths", { inputDim: 21, modelDim: 27, outputDim: 13, numHeads: 3, weights: narrow(21, 27, 13) }, randomTensor(9, [2, 7, 21]), {}],
    ["odd widths and many rows", { inputDim: 21, modelDim: 27, outputDim: 13, numHeads: 3, weights: narrow(21, 27, 13) }, randomTensor(9, [1, 65, 21]), { causal: true }],
    ["odd widths in columns", { inputDim: 21, modelDim: 27, outputDim: 13, numHeads: 3, layout: "BES", weights: narrow(21, 27, 13) }, randomTensor(9, [2, 21, 33]), {}],
    ["columns without output projection", { inputDim: 24, numHeads: 3, layout: "BES", outputProjection: false, weights: withoutOutput(narrow(24, 24)) }, columns, {}],
    ["odd values without output projection", { inputDim: 24, numHeads: 3, valueHeadDim: 5, outputProjection: false, weights: { Wq: weight(1, 24, 24), Wk: weight(2, 24, 24), Wv: weight(3, 24, 15) } }, x, {}],
    ["float16 weights", { inputDim: 24, numHeads: 3, weights: inHalves(square(24)) }, x, {}],
    ["float16 weights, many rows", { inputDim: 24, numHeads: 3, weights: inHalves(square(24)), position: { kind: "rotary" } }, randomTensor(4, [1, 70, 24]), { causal: true }],
    ["weights of both dtypes", { inputDim: 24, numHeads: 3, weights: { ...square(24), ...inHalves({ Wk: weight(3, 24, 24) }) } }, x, {}],
    ["float16 columns of odd width", { inputDim: 23, modelDim: 24, numHeads: 3, layout: "BES", weights: narrow(23, 24) }, { data: toHalves(randomTensor(9, [1, 23, 7]).data), shape: [1, 23, 7], dtype: "float16" }, {}],
    ["learned positions in columns", { inputDim: 24, numHeads: 3, layout: "BES", weights: square(24), position: { kind: "learned", table: randomTensor(13, [50, 24]) } }, columns, { queryOffset: 4 }],
    ["sinusoidal positions of odd width", { inputDim: 21, modelDim: 24, numHeads: 3, weights: narrow(21, 24), position: { kind: "sinusoidal" } }, randomTensor(9, [2, 70, 21]), {}],
    ["contexts of their own", { inputDim: 24, keyInputDim: 20, valueInputDim: 9, numHeads: 3, weights: { ...square(24), Wk: weight(3, 20, 24), Wv: weight(5, 9, 24) }, position: { kind: "rotary" } }, x, { key: randomTensor(10, [2, 5, 20]), value: randomTensor(11, [2, 5, 9]) }],
    ["one context for keys and values", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "rotary" }, qkNorm: { kind: "rms" } }, x, { key: randomTensor(10, [2, 5, 24]) }],
    ["PyTorch's packed weights", { inputDim: 24, numHeads: 3, weights: { in_proj_weight: weight(1, 72, 24), in_proj_bias: randomTensor(2, [72]), "out_proj.weight": weight(3, 24, 24) }, position: { kind: "rotary" } }, x, {}],
    ["packed weights of shared heads", { inputDim: 24, numHeads: 3, numKvHeads: 1, valueHeadDim: 5, weights: { Wqkv: weight(1, 24, 24 + 8 + 5), bqkv: randomTensor(2, [37]), Wo: weight(3, 15, 24) } }, x, {}],
    ["nothing", { inputDim: 24, numHeads: 3, weights: square(24) }, randomTensor(1, [2, 0, 24]), {}],
    ["an empty context", { inputDim: 24, numHeads: 3, weights: square(24) }, x, { key: randomTensor(10, [2, 0, 24]) }],
  ]; // oxfmt-ignore

  test.each(shapes)("%s agree with wasm", async (_, options, input, given) => {
    await expectSameAsWasm(options, input, given);
  });

  const deep = { Wq: weight(1, 1100, 24), Wk: weight(2, 1100, 24), Wv: weight(3, 1100, 24), Wo: weight(4, 24, 70) };

  test.each([1, 3, 11, 70])("%i rows of great depth satisfy the formula", async (rows) => {
    const x = randomTensor(9, [1, rows, 1100]);
    const { output } = await run(engines.onGpu, { inputDim: 1100, numHeads: 3, weights: deep }, x, {});
    expect(differences(output, formulaOf({ numHeads: 3, ...deep }, x))).toEqual([]);
  });

  test("a row with NaN leaves the other rows as they are", async () => {
    const clean = randomTensor(9, [1, 70, 23]);
    const spoilt = { ...clean, data: clean.data.slice() };
    spoilt.data.fill(NaN, 69 * 23);
    const options = { inputDim: 23, modelDim: 24, numHeads: 3, weights: narrow(23, 24) };
    const rows = async (x: Tensor<"float32">) => {
      const { output } = await run(engines.onGpu, options, x, { causal: true });
      return (output as TypedTensor<"float32">).data.slice(0, 69 * 23);
    };
    expect(await rows(spoilt)).toEqual(await rows(clean));
  });

  const cached: [string, LayerOptions, Partial<KvCacheOptions>][] = [
    ["a float32 cache", { inputDim: 24, numHeads: 3, weights: square(24) }, {}],
    ["a rotary layer", { inputDim: 24, numHeads: 3, weights: square(24), position: { kind: "rotary", base: 500 } }, { ring: { keepFirst: 1, window: 6 } }],
    ["a rotary int8 cache", { inputDim: 24, numHeads: 3, weights: square(24), qkNorm: { kind: "rms" } }, { dtype: "int8", rotary: { base: 500 } }],
    ["learned positions and other widths", { inputDim: 24, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, weights: { Wq: weight(1, 24, 21), Wk: weight(2, 24, 7), Wv: weight(3, 24, 5), Wo: weight(4, 15, 24) }, position: { kind: "learned", table: randomTensor(13, [50, 24]) } }, { headDim: 7, valueDim: 5, numKvHeads: 1, dtype: "float16" }],
  ]; // oxfmt-ignore

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

/** The layer's output for x [B, S, inputDim] by the reference, and its tolerance by the error model. */
function formulaOf(layer: ReferenceLayer, { data, shape }: TypedTensor<"float32">): Expected {
  const [B, S, W] = shape as [number, number, number];
  const rows = Array.from({ length: B }, (_, b) => {
    const at = (s: number) => (b * S + s) * W;
    return referenceLayer(
      layer,
      Array.from({ length: S }, (_, s) => exactRow(data.subarray(at(s), at(s + 1)))),
    ).flat();
  }).flat();
  return {
    values: Float64Array.from(rows, ({ value }) => value),
    tolerance: Float64Array.from(rows, ({ error }) => error),
  };
}

function withoutOutput({ Wq, bq, Wk, Wv, bv }: LayerWeights): LayerWeights {
  return { Wq: Wq!, bq: bq!, Wk: Wk!, Wv: Wv!, bv: bv! };
}

function inHalves(weights: Readonly<Record<string, TypedTensor<"float32">>>): LayerWeights {
  return Object.fromEntries(
    Object.entries(weights).map(([name, { data, shape }]) => [
      name,
      { data: toHalves(data), shape, dtype: "float16" as const },
    ]),
  );
}

function toHalves(numbers: Float32Array): Uint16Array {
  const view = new DataView(new ArrayBuffer(2 * numbers.length));
  numbers.forEach((x, k) => setFloat16(view, 2 * k, x, true));
  return new Uint16Array(view.buffer);
}
