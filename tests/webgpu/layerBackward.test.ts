import { expect, test } from "@jest/globals";
import { setFloat16 } from "@petamoriken/float16";
import {
  createAttention,
  DeviceLostError,
  DisposedError,
  type Attention,
  type ForwardOptions,
  type GpuResult,
  type Layer,
  type LayerOptions,
  type Tensor,
  type TypedTensor,
} from "headwise";

import type { LayerBackwardOptions, LayerReturns, UsualLayerGradients } from "../../web/src/layer/backwardProblem.js";
import { layerProblem } from "../../web/src/layer/layerProblem.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { tokensOfRows } from "../../web/src/webgpu/layer/layerBackward.js";
import { bits, differences, valuesOf } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { thrown } from "../web/thrownBy.js";
import { CountedGpu } from "./countedGpu.js";
import { describeOnGpu, describeOnNullGpu, disposeAll, gpu, nullGpu, onSharedDevice } from "./gpu.js";
import { gradientsOf, type LayerCall, type Numbers } from "./layerGradientReference.js";
import { square, weight } from "./layerWeights.js";

type TrainedOptions = LayerOptions & { readonly weights: Readonly<Record<string, TypedTensor>> };
type Floats = TypedTensor<"float32"> | TypedTensor<"float16">;

/**
 * The largest difference, as a share of the largest number of a gradient, or of a tenth of the largest of all: sums of
 * some hundred products. The gradient of bk is often 0, because a number that is added to all scores changes nothing.
 */
const SHARE = 2e-5;

/** Options of a call that the reference knows. */
interface Given extends ForwardOptions {
  readonly causal?: boolean;
  readonly queryOffset?: number;
  readonly queryLengths?: number[];
  readonly keyLengths?: number[];
  readonly cuSeqLensQuery?: number[];
  readonly cuSeqLensKey?: number[];
  readonly key?: Floats;
  readonly value?: Floats;
  readonly bias?: TypedTensor<"float32">;
  readonly sinks?: number[];
}

interface Case {
  readonly options: TrainedOptions;
  readonly x: Floats;
  readonly given?: Given;
}

/** The call as the reference takes it, and the numbers that it reads. */
function referenceCall({ options, x, given = {} }: Case): [LayerCall, Numbers] {
  const problem = layerProblem(new CallArguments("multiHeadAttention"), options);
  const rowsOf = ({ shape }: Tensor) => shape[problem.layout === "BSE" ? 1 : 2]!;
  const { gradients: places } = problem;
  const { key, value, bias, sinks } = given;
  const doubles = (tensor: Pick<Tensor, "data">) => Float64Array.from(valuesOf(tensor));
  const gains = options.qkNorm?.gain as Record<string, ArrayLike<number>> | undefined;
  const numbers = {
    x: doubles(x),
    ...(key && { key: doubles(key) }),
    ...(value && { value: doubles(value) }),
    ...(bias && { bias: doubles(bias) }),
    ...(sinks && { sinks: Float64Array.from(sinks) }),
    ...Object.fromEntries(Object.entries(options.weights).map(([name, tensor]) => [name, doubles(tensor)])),
    ...(options.position?.kind === "learned" && { "position.table": doubles(options.position.table as Tensor) }),
    ...(gains && "query" in gains && { "qkNorm.gain.query": Float64Array.from(gains["query"]) }),
    ...(gains && "key" in gains && { "qkNorm.gain.key": Float64Array.from(gains["key"]) }),
    ...(gains && "length" in gains && { "qkNorm.gain": Float64Array.from(gains as unknown as number[]) }),
  };
  const batchSize = x.shape[0]!;
  const queryLength = rowsOf(x);
  const keyLength = rowsOf(value ?? key ?? x);
  const { causal = false, queryOffset, cuSeqLensQuery, cuSeqLensKey, queryLengths, keyLengths } = given;
  const count = cuSeqLensQuery ? cuSeqLensQuery.length - 1 : batchSize;
  const sequences = Array.from({ length: count }, (_, n) => {
    const queries = [cuSeqLensQuery?.[n] ?? 0, cuSeqLensQuery?.[n + 1] ?? queryLength] as const;
    const keys = [cuSeqLensKey?.[n] ?? 0, cuSeqLensKey?.[n + 1] ?? keyLength] as const;
    const aligned = (keyLengths?.[n] ?? keys[1] - keys[0]) - (queryLengths?.[n] ?? queries[1] - queries[0]);
    return { batch: cuSeqLensQuery ? 0 : n, queries, keys, offset: queryOffset ?? (causal ? aligned : 0) };
  });
  const visible = (n: number, i: number, j: number) =>
    i < (queryLengths?.[n] ?? Infinity) &&
    j < (keyLengths?.[n] ?? Infinity) &&
    (!causal || j <= i + sequences[n]!.offset);
  const roles = ["query", "key", "value", "output"] as const;
  const names = Object.fromEntries(
    roles.flatMap((role) => {
      const place = places.weights[role];
      const bias = places.biases[role];
      return place ? [[role, { weight: place.name, ...(bias && { bias: bias.name }) }]] : [];
    }),
  );
  return [{ problem, names, batchSize, queryLength, keyLength, sequences, visible }, numbers];
}

function toHalves({ data, shape }: Tensor<"float32">): TypedTensor<"float16"> {
  const view = new DataView(new ArrayBuffer(2 * data.length));
  data.forEach((x, k) => setFloat16(view, 2 * k, x, true));
  return { data: new Uint16Array(view.buffer), shape, dtype: "float16" };
}

const inHalves = (weights: Readonly<Record<string, TypedTensor<"float32">>>) =>
  Object.fromEntries(Object.entries(weights).map(([name, tensor]) => [name, toHalves(tensor)]));

const x = randomTensor(9, [2, 5, 12]);
const columns = randomTensor(9, [2, 12, 5]);
const gain = (seed: number, width: number) => randomTensor(seed, [width]).data.map((g) => 1 + g / 2);
const own = { Wq: weight(1, 12, 21), Wk: weight(2, 10, 7), Wv: weight(3, 9, 5), bv: randomTensor(4, [5]) };
const contexts = { key: randomTensor(10, [2, 4, 10]), value: randomTensor(11, [2, 4, 9]) };
const norm = { kind: "rms", gain: { query: gain(12, 16), key: gain(13, 16) } } as const;
const wide = {
  Wq: weight(1, 12, 32),
  bq: randomTensor(2, [32]),
  Wk: weight(3, 12, 16),
  bk: randomTensor(4, [16]),
  Wv: weight(5, 12, 16),
  Wo: weight(7, 32, 6),
};
const withoutOutput = (({ Wq, bq, Wk, bk, Wv, bv }) => ({ Wq, bq, Wk, bk, Wv, bv }))(square(12));

const cases: Record<string, Case> = {
  "masks": { options: { inputDim: 12, numHeads: 3, weights: square(12) }, x, given: { causal: true } },
  "one head of four features": { options: { inputDim: 4, numHeads: 1, weights: { Wq: weight(1, 4, 4), Wk: weight(2, 4, 4), Wv: weight(3, 4, 4), Wo: weight(4, 4, 4) } }, x: randomTensor(9, [1, 3, 4]) },
  "widths of their own and two contexts": { options: { inputDim: 12, keyInputDim: 10, valueInputDim: 9, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, weights: { ...own, Wo: weight(5, 15, 11), bo: randomTensor(6, [11]) } }, x, given: contexts },
  "one context for keys and values": { options: { inputDim: 12, numHeads: 3, weights: square(12) }, x, given: { key: randomTensor(10, [2, 7, 12]) } },
  "a context for values alone": { options: { inputDim: 12, numHeads: 3, weights: square(12) }, x, given: { value: randomTensor(10, [2, 5, 12]) } },
  "rotary and an rms norm in the store": { options: { inputDim: 12, modelDim: 32, numHeads: 2, numKvHeads: 1, outputDim: 6, weights: wide, qkNorm: norm, position: { kind: "rotary", base: 50 } }, x, given: { causal: true, queryOffset: 2 } },
  "rotary and an rms norm after it": { options: { inputDim: 12, numHeads: 1, weights: square(12), qkNorm: { kind: "rms", gain: { query: gain(12, 12) } }, position: { kind: "rotary", base: 50, rotaryDim: 8 } }, x },
  "interleaved rotary and an l2 norm with one gain": { options: { inputDim: 12, modelDim: 32, numHeads: 2, numKvHeads: 1, outputDim: 6, weights: wide, qkNorm: { kind: "l2", gain: gain(14, 16) }, position: { kind: "rotary", base: 50, interleaved: true } }, x, given: { causal: true } },
  "one gain and a context": { options: { inputDim: 12, numHeads: 3, weights: square(12), qkNorm: { kind: "rms", gain: gain(14, 4) } }, x, given: { key: randomTensor(10, [2, 7, 12]) } },
  "an l2 norm that divides by epsilon": { options: { inputDim: 12, numHeads: 3, weights: square(12), qkNorm: { kind: "l2", epsilon: 100 } }, x },
  "learned positions": { options: { inputDim: 12, numHeads: 3, weights: square(12), position: { kind: "learned", table: randomTensor(13, [9, 12]) } }, x, given: { queryOffset: 3 } },
  "learned positions in columns": { options: { inputDim: 12, numHeads: 3, layout: "BES", weights: square(12), position: { kind: "learned", table: randomTensor(13, [5, 12]) } }, x: columns, given: { causal: true } },
  "sinusoidal positions": { options: { inputDim: 12, numHeads: 3, weights: square(12), position: { kind: "sinusoidal" } }, x },
  "columns": { options: { inputDim: 12, numHeads: 3, layout: "BES", weights: square(12) }, x: columns },
  "no output projection": { options: { inputDim: 12, numHeads: 3, outputProjection: false, weights: withoutOutput }, x, given: { causal: true } },
  "odd widths without output projection, in columns": { options: { inputDim: 12, keyInputDim: 10, valueInputDim: 9, modelDim: 21, valueHeadDim: 5, numHeads: 3, numKvHeads: 1, outputProjection: false, layout: "BES", weights: own }, x: columns, given: { key: randomTensor(10, [2, 10, 4]), value: randomTensor(11, [2, 9, 4]) } },
  "packed weights of shared heads": { options: { inputDim: 12, numHeads: 3, numKvHeads: 1, valueHeadDim: 5, weights: { Wqkv: weight(1, 12, 12 + 4 + 5), bqkv: randomTensor(2, [21]), Wo: weight(3, 15, 12) } }, x },
  "PyTorch's packed weights": { options: { inputDim: 12, numHeads: 3, weights: { in_proj_weight: weight(1, 36, 12), in_proj_bias: randomTensor(2, [36]), "out_proj.weight": weight(3, 12, 12), "out_proj.bias": randomTensor(4, [12]) }, position: { kind: "rotary", base: 50 } }, x },
  "float16": { options: { inputDim: 12, numHeads: 3, weights: inHalves(square(12)) }, x: toHalves(x), given: { causal: true } },
  "float16 columns of odd width": { options: { inputDim: 11, modelDim: 12, numHeads: 3, layout: "BES", weights: { Wq: weight(1, 11, 12), Wk: toHalves(weight(2, 11, 12)), Wv: weight(3, 11, 12), Wo: weight(4, 12, 11) } }, x: toHalves(randomTensor(9, [2, 11, 5])) },
  "padding": { options: { inputDim: 12, numHeads: 3, weights: square(12), position: { kind: "rotary", base: 50 } }, x, given: { causal: true, queryLengths: [5, 3], keyLengths: [5, 3] } },
  "a ragged batch": { options: { inputDim: 12, numHeads: 3, weights: square(12), position: { kind: "rotary", base: 50 }, qkNorm: { kind: "rms" } }, x: randomTensor(9, [1, 9, 12]), given: { causal: true, cuSeqLensQuery: [0, 4, 4, 9], cuSeqLensKey: [0, 4, 4, 9] } },
  "a bias and sinks": { options: { inputDim: 12, numHeads: 3, weights: square(12) }, x, given: { bias: randomTensor(15, [1, 3, 5, 5]), sinks: [0.5, -1, 0.2] } },
  "many rows": { options: { inputDim: 4, modelDim: 8, numHeads: 2, weights: { Wq: weight(1, 4, 8), bq: randomTensor(5, [8]), Wk: weight(2, 4, 8), Wv: weight(3, 4, 8), Wo: weight(4, 8, 4) } }, x: randomTensor(9, [1, 70, 4]), given: { causal: true } },
}; // oxfmt-ignore

describeOnGpu("the gradient of a layer on WebGPU", () => {
  let hw: Attention;
  onSharedDevice((_, instance) => {
    hw = instance;
  });

  test.each(Object.entries(cases))("%s: finite differences in double", async (_, each) => {
    const { options, x, given = {} } = each;
    const layer = await hw.multiHeadAttention(options);
    const [call, numbers] = referenceCall(each);
    const { output, saved } = await layer.forward(x, { ...given, save: true });
    const dOutput = randomTensor(20, output.shape);
    const { key, value, bias, sinks } = given;
    const found = await layer.backward(saved, dOutput, {
      returns: {
        dInput: true,
        gradients: true,
        dContext: !!key,
        dValueContext: !!value,
        dBias: !!bias,
        dSinks: !!sinks,
      },
    });
    const expected = gradientsOf(call, numbers, dOutput.data);
    const OWN: Record<string, unknown> = {
      x: found.dInput,
      key: found.dContext,
      value: found.dValueContext,
      bias: found.dBias,
      sinks: found.dSinks,
    };
    const largestOfAll = Math.max(...Object.values(expected).flatMap((values) => Array.from(values, Math.abs)));
    for (const [name, values] of Object.entries(expected)) {
      const gradient = (OWN[name] ?? found.gradients[name]) as Tensor;
      const largest = Math.max(...values.map(Math.abs), 0.1 * largestOfAll);
      const tolerance = values.map(() => SHARE * largest);
      expect([name, differences(gradient, { values, tolerance })]).toEqual([name, []]);
    }
    layer.dispose();
  });

  const options: TrainedOptions = { inputDim: 12, modelDim: 32, numHeads: 2, numKvHeads: 1, outputDim: 6, weights: wide, qkNorm: norm, position: { kind: "rotary", base: 50 } }; // oxfmt-ignore
  const dOutput = randomTensor(20, [2, 5, 6]);

  /** The gradients of one call. */
  const gradientsOfCall = async <const R extends LayerReturns = UsualLayerGradients>(
    layer: Layer,
    tokens: Tensor<"float32">,
    given: ForwardOptions = { causal: true },
    rest: LayerBackwardOptions<R> = {},
  ) => {
    const { saved } = await layer.forward(tokens, { ...given, save: true, location: "cpu" });
    return layer.backward(saved, dOutput, rest);
  };

  test("a call that is saved has the output of one that is not, and gradients have the same bits again", async () => {
    const layer = await hw.multiHeadAttention(options);
    const plain = await layer.forward(x, { causal: true });
    const { saved, ...result } = await layer.forward(x, { causal: true, save: true });
    expect(plain).not.toHaveProperty("saved");
    expect(bits(result)).toEqual(bits(plain));
    expect(saved.bytes).toBeGreaterThan(0);
    const first = bits(await layer.backward(saved, dOutput, { keep: true }));
    expect(bits(await layer.backward(saved, dOutput))).toEqual(first);
    expect(bits(await gradientsOfCall(layer, x))).toEqual(first);
    layer.dispose();
  });

  test("of a loss that reads lse: as on wasm, also if dLse lies on the GPU", async () => {
    const cpu = await createAttention({ backend: "wasm", threads: 1 });
    const dLse = randomTensor(21, [2, 2, 5]);
    const given = { causal: true, sinks: [0.5, -1] };
    const returns = { dInput: true, gradients: true, dSinks: true } as const;
    const run = async (of: Attention, lse: LayerBackwardOptions["dLse"]) => {
      const layer = await of.multiHeadAttention(options);
      const found = await gradientsOfCall(layer, x, given, { dLse: lse!, returns });
      layer.dispose();
      return { dInput: found.dInput, dSinks: found.dSinks, ...found.gradients } as Record<string, Tensor<"float32">>;
    };
    const right = await run(cpu, dLse);
    const without = await run(cpu, null);
    for (const lse of [dLse, await hw.gpu!.upload(dLse)])
      for (const [name, found] of Object.entries(await run(hw, lse))) {
        const values = Float64Array.from(right[name]!.data);
        const tolerance = values.map(() => SHARE * Math.max(...values.map(Math.abs), 0.1));
        expect([name, differences(found, { values, tolerance })]).toEqual([name, []]);
      }
    for (const name of ["dInput", "dSinks", "Wq"]) expect(bits(right[name]!)).not.toEqual(bits(without[name]!));
    cpu.dispose();
  });

  test("saved does not refer to the caller's arrays", async () => {
    const layer = await hw.multiHeadAttention({ ...options, qkNorm: { kind: "rms" } });
    const mask = { data: Uint8Array.from({ length: 25 }, (_, n) => (n % 3 === 1 ? 0 : 1)), shape: [5, 5], dtype: "bool" } as const; // oxfmt-ignore
    const bias = randomTensor(15, [5, 5]);
    const tokens = { ...x, data: x.data.slice() };
    const there = { x: await hw.gpu!.upload(x), bias: await hw.gpu!.upload(bias) };
    const expected = bits(await gradientsOfCall(layer, x, { mask, bias }));
    const mine = await layer.forward(tokens, { mask, bias, save: true });
    const ours = await layer.forward(there.x, { mask, bias: there.bias, save: true });
    for (const array of [tokens.data, mask.data, bias.data]) array.fill(0);
    disposeAll(there);
    const other = await hw.gpu!.upload({ ...x, data: new Float32Array(120) }); // takes the buffer of there.x
    for (const { saved } of [mine, ours]) expect(bits(await layer.backward(saved, dOutput))).toEqual(expected);
    other.dispose();
    layer.dispose();
  });

  test("tensors on the GPU give the bits of tensors in JavaScript, and gradients can stay there", async () => {
    const layer = await hw.multiHeadAttention(options);
    const expected = await gradientsOfCall(layer, x);
    const there = { x: await hw.gpu!.upload(x), dOutput: await hw.gpu!.upload(dOutput) };
    const { saved, output } = await layer.forward(there.x, { causal: true, location: "gpu", save: true });
    const found = await layer.backward(saved, there.dOutput, { location: "gpu" });
    expect(await found.dInput.data()).toEqual(expected.dInput.data);
    expect(Object.keys(found.gradients).sort()).toEqual(Object.keys(expected.gradients).sort());
    for (const [name, gradient] of Object.entries(found.gradients) as [string, GpuResult][])
      expect([name, await gradient.data()]).toEqual([name, expected.gradients[name]!.data]);
    disposeAll({ output, dInput: found.dInput, ...found.gradients, ...there });
    layer.dispose();
  });

  test("a token that nobody sees, and whose output counts for nothing, changes no bit, even if it is NaN", async () => {
    const layer = await hw.multiHeadAttention(options);
    const given = { causal: true, keyLengths: [5, 3], queryLengths: [5, 3] };
    const expected = bits(await gradientsOfCall(layer, x, given));
    const spoilt = { ...x, data: x.data.slice() };
    spoilt.data.fill(NaN, 8 * 12);
    expect(bits(await gradientsOfCall(layer, spoilt, given))).toEqual(expected);
    layer.dispose();
  });

  test("accumulate adds to earlier gradients in place, and returns them", async () => {
    const layer = await hw.multiHeadAttention(options);
    const { gradients: before } = await gradientsOfCall(layer, x);
    const doubled = Object.fromEntries(
      Object.entries(before).map(([name, { data }]) => [name, data.map((g) => 2 * g)]),
    );
    const { gradients: found } = await gradientsOfCall(layer, x, { causal: true }, { accumulate: before });
    expect(found).toBe(before);
    for (const [name, { data }] of Object.entries(before)) expect([name, data]).toEqual([name, doubled[name]]);
    layer.dispose();
  });

  test("only what is wanted is there", async () => {
    const layer = await hw.multiHeadAttention(options);
    const only = async (returns: LayerReturns) =>
      Object.keys(await gradientsOfCall(layer, x, { causal: true }, { returns }));
    expect(await only({ dInput: true })).toEqual(["dInput"]);
    expect(await only({ gradients: true })).toEqual(["gradients"]);
    expect(await only({ dHeadGain: true })).toEqual(["dHeadGain"]);
    layer.dispose();
  });

  const others = Object.fromEntries(
    Object.entries(wide).map(([name, { shape }], n) => [name, randomTensor(50 + n, shape)]),
  );
  const narrow = { modelDim: 12, numHeads: 1, numKvHeads: 1, weights: { ...square(12), Wo: weight(7, 12, 6), bo: randomTensor(8, [6]) } }; // oxfmt-ignore
  const gains = (seed: number, width: number) => ({ query: gain(seed, width), key: gain(seed + 1, width) });
  const updates: [string, TrainedOptions, Partial<TrainedOptions>, object][] = [
    ["weights and gains in the store", options, { weights: others, qkNorm: { kind: "rms", gain: gains(60, 16) } }, { ...others, "qkNorm.gain.query": gain(60, 16), "qkNorm.gain.key": gain(61, 16) }],
    ["one weight", options, { weights: { ...wide, Wk: others["Wk"]! } }, { Wk: others["Wk"] }],
    ["gains after the product", { ...options, ...narrow, qkNorm: { kind: "l2", gain: gain(60, 12) } }, { qkNorm: { kind: "l2", gain: gain(61, 12) } }, { "qkNorm.gain": gain(61, 12) }],
    ["a table", { ...options, position: { kind: "learned", table: randomTensor(62, [5, 12]) } }, { position: { kind: "learned", table: randomTensor(63, [5, 12]) } }, { "position.table": randomTensor(63, [5, 12]) }],
    ["other dtypes", options, { weights: inHalves(others) }, inHalves(others)],
  ]; // oxfmt-ignore

  test.each(updates)(
    "update of %s gives the bits of a new layer, forward and backward",
    async (_, before, after, update) => {
      const layer = await hw.multiHeadAttention(before);
      await gradientsOfCall(layer, x);
      await layer.update(update);
      const fresh = await hw.multiHeadAttention({ ...before, ...after });
      expect(bits(await layer.forward(x))).toEqual(bits(await fresh.forward(x)));
      expect(bits(await gradientsOfCall(layer, x))).toEqual(bits(await gradientsOfCall(fresh, x)));
      expect(layer.bytes).toBe(fresh.bytes);
      for (const each of [layer, fresh]) each.dispose();
    },
  );

  test("disposing a layer ends its saved calls", async () => {
    const layer = await hw.multiHeadAttention(options);
    const { saved } = await layer.forward(x, { save: true });
    layer.dispose();
    expect(DisposedError.is(await thrown(layer.backward(saved, dOutput)))).toBe(true);
    saved.dispose();
  });

  test("a saved call is lost with its device; the layer goes on", async () => {
    const alone = await createAttention({ backend: "webgpu", gpu: gpu! });
    const layer = await alone.multiHeadAttention(options);
    const { saved } = await layer.forward(x, { causal: true, save: true });
    const device = alone.gpu!.device as GPUDevice;
    device.destroy();
    await device.lost;
    const reason = await thrown(layer.backward(saved, dOutput));
    expect([DeviceLostError.is(reason), (reason as Error).message]).toEqual([true, "layer.backward: saved was lost with its GPU device"]); // oxfmt-ignore
    saved.dispose();
    const other = await hw.multiHeadAttention(options);
    expect(bits(await gradientsOfCall(layer, x))).toEqual(bits(await gradientsOfCall(other, x)));
    other.dispose();
    alone.dispose();
  });
});

describeOnNullGpu("a step of training that is repeated", () => {
  test("makes no buffer, no bind group and no pipeline, and waits for nothing with results on the GPU", async () => {
    const counted = new CountedGpu();
    const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    const table = randomTensor(13, [5, 12]);
    const layer = await hw.multiHeadAttention({ inputDim: 12, numHeads: 3, weights: square(12), position: { kind: "learned", table } }); // oxfmt-ignore
    const there = await hw.gpu!.upload(x);
    const step = async () => {
      const { output, saved } = await layer.forward(there, { causal: true, location: "gpu", save: true });
      const { dInput, gradients } = await layer.backward(saved, there, { location: "gpu" });
      disposeAll({ output, dInput, ...gradients });
      await layer.update({ ...square(12), "position.table": table });
    };
    for (let n = 0; n < 3; ++n) await step();
    const counts = await counted.count(step);
    expect(counts).toMatchObject({ createBuffer: 0, createBindGroup: 0, createComputePipelineAsync: 0, submit: 3, waits: 0 }); // oxfmt-ignore
    hw.dispose();
    counted.restore();
  });
});

test("the tokens of each row of a table are listed in their order", () => {
  expect([...tokensOfRows(Int32Array.of(2, 0, -1, 2, 0), 3)]).toEqual([4, 6, 6, 8, 1, 4, 0, 3]);
});
