import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  type Attention,
  type ForwardOptions,
  type Layer,
  type LayerOptions,
  type LayerReturns,
  type TypedTensor,
} from "headwise";
import { formula } from "headwise/formula";

import { bits, differences } from "./close.js";
import { variants } from "./engines.js";
import { randomTensor } from "./randomTensor.js";
import { EPSILON, type Expected, type ReferenceOptions } from "../attention-conformance/reference/reference.js";
import { referenceLayerBackward, type Doubles, type LayerCase } from "./referenceLayerBackward.js";

type Floats = TypedTensor<"float32">;

const doubles = ({ data, shape }: Floats): Doubles => ({ data: Float64Array.from(data), shape });

const [INPUT, HEADS, KV, D] = [5, 4, 2, 2];

/** The weights of a layer [in, out], by the names of the formula. */
function weightsOf({ keyDim = INPUT, valueDim = INPUT, kv = KV, biases = true } = {}): Record<string, Floats> {
  const all = {
    Wq: randomTensor(11, [INPUT, HEADS * D]),
    Wk: randomTensor(12, [keyDim, kv * D]),
    Wv: randomTensor(13, [valueDim, kv * D]),
    Wo: randomTensor(14, [HEADS * D, INPUT]),
  };
  const bias = {
    bq: randomTensor(15, [HEADS * D]),
    bk: randomTensor(16, [kv * D]),
    bv: randomTensor(17, [kv * D]),
    bo: randomTensor(18, [INPUT]),
  };
  return biases ? { ...all, ...bias } : all;
}

/** A case: the layer, the call, and what the reference reads instead of them. */
interface Case {
  readonly name: string;
  readonly layer?: Partial<LayerOptions>;
  readonly weights?: Record<string, Floats>;
  readonly length?: number;
  readonly contexts?: { readonly key?: Floats; readonly value?: Floats };
  /** Options of forward; those with gradients are in `arrays`. */
  readonly options?: ForwardOptions & ReferenceOptions;
  readonly arrays?: Readonly<Record<"bias" | "sinks" | "headGain" | "alibiSlopes", Floats>> | Record<string, Floats>;
  readonly reference?: Partial<LayerCase>;
  readonly gains?: Record<string, Floats>;
  readonly table?: Floats;
  /** dOutput of these tokens is 0: they are padding, whose outputs are the output's bias alone. */
  readonly silent?: (token: number) => boolean;
  /** Whether the loss reads lse. */
  readonly lse?: boolean;
}

const GAINS = { queryGain: randomTensor(21, [D]), keyGain: randomTensor(22, [D]) };

const cases: Case[] = [
  { name: "self-attention" },
  { name: "without biases", weights: weightsOf({ biases: false }) },
  { name: "causal, in a window", options: { causal: true, window: { left: 2 } } },
  {
    name: "rms norm and rotary embedding",
    layer: { qkNorm: { kind: "rms", epsilon: 1e-3 }, position: { kind: "rotary" } },
    reference: { qkNorm: { kind: "rms", epsilon: 1e-3 }, rotary: true },
    options: { queryOffset: 3 },
  },
  {
    name: "l2 norm with gains",
    layer: {
      qkNorm: { kind: "l2", gain: { query: GAINS.queryGain.data, key: GAINS.keyGain.data } },
    },
    gains: GAINS,
    reference: { qkNorm: { kind: "l2", epsilon: 1e-12 } },
  },
  {
    name: "learned positions",
    layer: { position: { kind: "learned", table: randomTensor(23, [6, INPUT]) } },
    table: randomTensor(23, [6, INPUT]),
    options: { queryOffset: 1 },
  },
  {
    name: "a context for keys and values",
    layer: { keyInputDim: 3 },
    weights: weightsOf({ keyDim: 3, valueDim: 3 }),
    contexts: { key: randomTensor(24, [2, 6, 3]) },
  },
  {
    name: "two contexts",
    layer: { keyInputDim: 3, valueInputDim: 4 },
    weights: weightsOf({ keyDim: 3, valueDim: 4 }),
    contexts: { key: randomTensor(24, [2, 6, 3]), value: randomTensor(25, [2, 6, 4]) },
  },
  {
    name: "a mask, softcap and every array of attention",
    options: { mask: { data: Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 0), shape: [2, 1, 1, 4], dtype: "bool" }, softcap: 2 },
    arrays: {
      bias: randomTensor(26, [HEADS, 1, 4]),
      sinks: randomTensor(27, [HEADS]),
      headGain: randomTensor(28, [HEADS]),
      alibiSlopes: randomTensor(29, [HEADS]),
    },
  },
  {
    name: "lengths",
    options: { keyLengths: [3, 4], queryLengths: [2, 4] },
    silent: (token) => token === 2 || token === 3,
  },
  {
    name: "a ragged batch",
    length: 6,
    options: { cuSeqLensQuery: [0, 2, 6], cuSeqLensKey: [0, 3, 6], causal: true },
  },
];

for (const name of ["self-attention", "rms norm and rotary embedding", "a mask, softcap and every array of attention"])
  cases.push({ ...cases.find((c) => c.name === name)!, name: `${name}, of a loss that reads lse`, lse: true }); // oxfmt-ignore

/** The names under which weights may be given: how each is made of the weights of the formula. */
const NAMINGS: Readonly<Record<string, (weights: Record<string, Floats | Expected>) => Record<string, Floats>>> = {
  "the names of the formula": (weights) => weights as Record<string, Floats>,
  "packed weights": (weights) => packed(weights, "Wqkv", "bqkv", false),
  "PyTorch's names": (weights) => {
    const { Wo, bo, ...rest } = packed(weights, "in_proj_weight", "in_proj_bias", true);
    return { ...rest, "out_proj.weight": transposed(Wo), "out_proj.bias": bo };
  },
};

function transposed({ data, shape }: Floats): Floats {
  const [rows, columns] = shape as [number, number];
  const result = data.map((_, n) => data[(n % rows) * columns + Math.floor(n / rows)]!);
  return { data: result, shape: [columns, rows], dtype: "float32" };
}

function packed(weights: Record<string, Floats | Expected>, weight: string, bias: string, isOutIn: boolean) {
  const { Wq, Wk, Wv, bq, bk, bv, Wo, bo } = weights as Record<string, Floats>;
  const parts = [Wq!, Wk!, Wv!].map(transposed);
  const rows = parts.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const outIn: Floats = {
    data: Float32Array.from(parts.flatMap(({ data }) => [...data])),
    shape: [rows, INPUT],
    dtype: "float32",
  };
  return {
    [weight]: isOutIn ? outIn : transposed(outIn),
    [bias]: {
      data: Float32Array.from([...bq!.data, ...bk!.data, ...bv!.data]),
      shape: [rows],
      dtype: "float32" as const,
    },
    Wo: Wo!,
    bo: bo!,
  };
}

/** Everything of a case that the engine and the reference need. */
function setUp({ contexts = {}, weights = weightsOf(), length = 4, arrays = {}, silent, lse, ...c }: Case) {
  const batch = c.options?.cuSeqLensQuery ? 1 : 2;
  const x = randomTensor(1, [batch, length, INPUT]);
  const dOutput = randomTensor(2, [batch, length, INPUT]);
  if (silent)
    dOutput.data.forEach((_, n) => {
      if (silent(Math.floor(n / INPUT))) dOutput.data[n] = 0;
    });
  const dLse = lse ? randomTensor(3, [batch, HEADS, length]) : undefined;
  const parameters = { x, ...contexts, ...weights, ...c.gains, ...(c.table && { table: c.table }), ...arrays };
  const reference: LayerCase = {
    numHeads: HEADS,
    numKvHeads: KV,
    parameters: Object.fromEntries(Object.entries(parameters).map(([name, tensor]) => [name, doubles(tensor)])),
    options: c.options ?? {},
    dOutput: doubles(dOutput),
    ...(dLse && { dLse: doubles(dLse) }),
    ...c.reference,
  };
  const lists = Object.fromEntries(
    Object.entries(arrays).map(([name, tensor]) => [name, name === "bias" ? tensor : tensor.data]),
  );
  const options: ForwardOptions = { ...c.options, ...contexts, ...lists };
  const layer: LayerOptions = { numHeads: HEADS, numKvHeads: KV, ...c.layer, weights };
  return { x, dOutput, dLse: dLse ?? null, weights, contexts, arrays, reference, options, layer };
}

/** The names of gradients in a result, for the parameters of the reference. */
const RESULT: Readonly<Record<string, string>> = {
  x: "dInput",
  key: "dContext",
  value: "dValueContext",
  bias: "dBias",
  sinks: "dSinks",
  headGain: "dHeadGain",
  alibiSlopes: "dAlibiSlopes",
};
const WEIGHT: Readonly<Record<string, string>> = {
  queryGain: "qkNorm.gain.query",
  keyGain: "qkNorm.gain.key",
  table: "position.table",
};

describe.each(cases)("the gradient of $name", (c) => {
  const { x, dOutput, dLse, contexts, arrays, reference, options, layer: layerOptions } = setUp(c);
  const expected = referenceLayerBackward(reference);
  const inner = Object.fromEntries(Object.keys(arrays).map((name) => [RESULT[name], true])) as LayerReturns;
  const returns: LayerReturns = {
    dInput: true,
    gradients: true,
    ...(contexts.key && { dContext: true }),
    ...(contexts.value && { dValueContext: true }),
    ...inner,
  };

  test.each(variants)("equals finite differences in double on %s", async (variant) => {
    const hw = await createAttention({ backend: "wasm", variant, threads: 2 });
    const layer = await hw.multiHeadAttention(layerOptions);
    const { output, saved } = await layer.forward(x, { ...options, save: true });
    expect(bits(output)).toEqual(bits((await layer.forward(x, options)).output));
    const result = (await layer.backward(saved, dOutput, { dLse, returns })) as Record<string, Floats> & {
      gradients: Record<string, Floats>;
    };
    for (const [name, gradient] of Object.entries(expected)) {
      const got = RESULT[name] ? result[RESULT[name]] : result.gradients[WEIGHT[name] ?? name];
      expect([name, differences(got, gradient)]).toEqual([name, []]);
      expect([name, got!.shape]).toEqual([name, reference.parameters[name]!.shape]);
    }
    expect(Object.keys(result).sort()).toEqual(Object.keys(returns).sort());
    hw.dispose();
  });
});

describe.each(variants)("layer.backward on %s", (variant) => {
  let hw: Attention;
  let layer: Layer;
  const { x, dOutput, weights, layer: layerOptions } = setUp({ name: "" });
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
    layer = await hw.multiHeadAttention(layerOptions);
  });
  afterAll(() => hw.dispose());

  const saved = async (options: ForwardOptions = {}, of = layer, input: typeof x = x) =>
    (await of.forward(input, { ...options, save: true })).saved;

  test.each(Object.keys(NAMINGS))("names gradients by %s, in their storage", async (naming) => {
    const store = NAMINGS[naming]!;
    const named = await hw.multiHeadAttention({
      inputDim: INPUT,
      modelDim: HEADS * D,
      numHeads: HEADS,
      numKvHeads: KV,
      weights: store(weights),
    });
    const expected = store((await layer.backward(await saved(), dOutput)).gradients);
    const { gradients } = await named.backward(await saved({}, named), dOutput);
    expect(Object.keys(gradients).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, { data, shape }] of Object.entries(expected)) {
      expect([name, gradients[name]!.shape]).toEqual([name, shape]);
      // the sums run in another order if the weight is stored the other way
      const tolerance = Float64Array.from(data, () => 64 * EPSILON);
      expect([name, differences(gradients[name], { values: Float64Array.from(data), tolerance })]).toEqual([name, []]);
    }
  });

  test("one gain for queries and keys gets the sum of both", async () => {
    const gain = GAINS.queryGain.data;
    const options = { ...layerOptions, position: { kind: "rotary" } as const };
    const shared = await hw.multiHeadAttention({ ...options, qkNorm: { kind: "rms", gain } });
    const each = await hw.multiHeadAttention({ ...options, qkNorm: { kind: "rms", gain: { query: gain, key: gain } } });
    const { gradients } = await shared.backward(await saved({}, shared), dOutput);
    const { gradients: both } = await each.backward(await saved({}, each), dOutput);
    const sum = both["qkNorm.gain.query"]!.data.map((value, d) => value + both["qkNorm.gain.key"]!.data[d]!);
    expect([...gradients["qkNorm.gain"]!.data]).toEqual([...sum]);
  });

  test("gives the gradients of a score formula's parameters", async () => {
    const score = formula("s * gain + slope[h] * (q - k)", { gain: 0.75, slope: Float32Array.of(0.5, 1, -0.5, 0.25) });
    const { dTables } = await layer.backward(await saved({ score }), dOutput, { returns: { dTables: true } });
    const loss = async (gain: number) => {
      const { output } = await layer.forward(x, { score: score.with({ gain }) });
      return output.data.reduce((sum, value, n) => sum + value * dOutput.data[n]!, 0);
    };
    const step = 2 ** -6;
    const difference = ((await loss(0.75 + step)) - (await loss(0.75 - step))) / (2 * step);
    expect(dTables.gain!.shape).toEqual([]);
    expect(dTables.slope!.shape).toEqual([4]);
    // the difference errs by step² / 6 times the third derivative, and by the rounding of the losses over the step
    expect(Math.abs(dTables.gain!.data[0]! - difference)).toBeLessThan(1e-3);
  });

  test("adds to earlier gradients in place", async () => {
    const first = await layer.backward(await saved(), dOutput);
    const once = Object.fromEntries(Object.entries(first.gradients).map(([name, { data }]) => [name, data.slice()]));
    const { gradients } = await layer.backward(await saved(), dOutput, { accumulate: first.gradients });
    expect(gradients).toBe(first.gradients);
    for (const [name, data] of Object.entries(once))
      expect([name, [...gradients[name]!.data]]).toEqual([name, [...data.map((value) => 2 * value)]]);
  });

  test("adds to tensors of the engine", async () => {
    const { gradients } = await layer.backward(await saved(), dOutput);
    const own = Object.fromEntries(Object.entries(gradients).map(([name, { shape }]) => [name, hw.allocate(shape)]));
    await layer.backward(await saved(), dOutput, { accumulate: own });
    for (const [name, { data }] of Object.entries(gradients)) expect([...own[name]!.data]).toEqual([...data]);
  });

  test("has the same bits for every number of threads", async () => {
    const [X, G] = [randomTensor(3, [2, 70, INPUT]), randomTensor(4, [2, 70, INPUT])];
    const one = await createAttention({ backend: "wasm", variant, threads: 1 });
    const alone = await one.multiHeadAttention(layerOptions);
    const many = await layer.backward((await layer.forward(X, { save: true, causal: true })).saved, G);
    const few = await alone.backward((await alone.forward(X, { save: true, causal: true })).saved, G);
    expect(bits(many)).toEqual(bits(few));
    one.dispose();
  });

  test("a token that is hidden everywhere may hold NaN", async () => {
    const options = { keyLengths: [2, 4], queryLengths: [2, 4] };
    const silent = { ...dOutput, data: dOutput.data.slice().fill(0, 2 * INPUT, 4 * INPUT) };
    const spoiled = { ...x, data: x.data.slice().fill(NaN, 2 * INPUT, 4 * INPUT) };
    const clean = await layer.backward(await saved(options), silent);
    const result = await layer.backward(await saved(options, layer, spoiled), silent);
    expect(bits(result)).toEqual(bits(clean));
    expect([...clean.dInput.data.slice(2 * INPUT, 4 * INPUT)]).toEqual(Array(2 * INPUT).fill(0));
  });

  test("in layout BES gives columns", async () => {
    const columns = ({ data, shape: [B, S, W] }: Floats): Floats => ({
      data: data.map((_, n) => {
        const [b, f, s] = [Math.floor(n / (S! * W!)), Math.floor(n / S!) % W!, n % S!];
        return data[(b * S! + s) * W! + f]!;
      }),
      shape: [B!, W!, S!],
      dtype: "float32",
    });
    const of = await hw.multiHeadAttention({ ...layerOptions, layout: "BES" });
    const expected = await layer.backward(await saved(), dOutput);
    const result = await of.backward(await saved({}, of, columns(x)), columns(dOutput));
    expect(result.dInput.shape).toEqual([2, INPUT, 4]);
    const near = (got: Floats, { data }: Floats) =>
      differences(got, {
        values: Float64Array.from(data),
        tolerance: Float64Array.from(data, () => 256 * EPSILON),
      });
    expect(near(result.dInput, columns(expected.dInput))).toEqual([]);
    expect(near(result.gradients.Wk!, expected.gradients.Wk!)).toEqual([]);
  });

  test("of one batch of rank 2 has rank 2", async () => {
    const one = { data: x.data.slice(0, 4 * INPUT), shape: [4, INPUT], dtype: "float32" as const };
    const kept = (await layer.forward(one, { save: true })).saved;
    const { dInput } = await layer.backward(kept, { data: dOutput.data.slice(0, 4 * INPUT), shape: [4, INPUT] });
    expect(dInput.shape).toEqual([4, INPUT]);
  });

  test("does not see later changes of the caller's arrays", async () => {
    const own = hw.allocate([2, 4, INPUT]);
    own.data.set(x.data);
    const bias = randomTensor(26, [HEADS, 1, 4]);
    const arrays = { data: x.data.slice(), shape: x.shape, dtype: "float32" as const };
    const expected = await layer.backward(await saved({ bias }), dOutput);
    for (const input of [own, arrays]) {
      const changing = { ...bias, data: bias.data.slice() };
      const kept = (await layer.forward(input, { save: true, bias: changing })).saved;
      input.data.fill(7);
      changing.data.fill(7);
      expect(bits(await layer.backward(kept, dOutput))).toEqual(bits(expected));
    }
    own.dispose();
  });

  test("can be repeated with keep, and else only once", async () => {
    const kept = await saved();
    expect(kept.bytes).toBeGreaterThan(0);
    const first = await layer.backward(kept, dOutput, { keep: true });
    const second = await layer.backward(kept, dOutput);
    expect(bits(second)).toEqual(bits(first));
    expect(kept.bytes).toBe(0);
    await expect(layer.backward(kept, dOutput)).rejects.toMatchObject({
      name: "DisposedError",
      message: "layer.backward: saved was used by an earlier call",
      hint: expect.stringMatching(/^To use it again, give keep: true\./),
    });
  });

  test("leaves saved as it was if a check fails or the call is aborted", async () => {
    const kept = await saved();
    await expect(layer.backward(kept, randomTensor(1, [2, 4, 3]))).rejects.toMatchObject({ name: "ShapeError" });
    const controller = new AbortController();
    const busy = layer.forward(x);
    const aborted = layer.backward(kept, dOutput, { signal: controller.signal });
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    await busy;
    expect((await layer.backward(kept, dOutput)).dInput.shape).toEqual(x.shape);
  });

  test("saved that is disposed while a call has it stays disposed if the call fails", async () => {
    const before = layer.bytes;
    const kept = await saved();
    const controller = new AbortController();
    const busy = layer.forward(x);
    const aborted = layer.backward(kept, dOutput, { signal: controller.signal });
    kept.dispose();
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
    await busy;
    expect([kept.bytes, layer.bytes]).toEqual([0, before]);
    await expect(layer.backward(kept, dOutput)).rejects.toThrow("layer.backward: saved was disposed");
  });

  test("gives only what is asked for", async () => {
    const result = await layer.backward(await saved(), dOutput, { returns: { dInput: true } });
    expect(Object.keys(result)).toEqual(["dInput"]);
    const { dHeadGain } = await layer.backward(await saved(), dOutput, { returns: { dHeadGain: true } });
    expect(dHeadGain.shape).toEqual([HEADS]);
  });

  test("update replaces any weights, and later calls use them", async () => {
    const changing = await hw.multiHeadAttention({
      ...layerOptions,
      qkNorm: { kind: "rms", gain: GAINS.queryGain.data },
      position: { kind: "learned", table: randomTensor(23, [4, INPUT]) },
    });
    const news = { Wk: randomTensor(31, [INPUT, KV * D]), bo: randomTensor(32, [INPUT]) };
    const others = { "qkNorm.gain": GAINS.keyGain, "position.table": randomTensor(33, [4, INPUT]) };
    const made = await hw.multiHeadAttention({
      ...layerOptions,
      qkNorm: { kind: "rms", gain: GAINS.keyGain.data },
      position: { kind: "learned", table: others["position.table"] },
      weights: { ...weights, ...news },
    });
    const before = changing.forward(x);
    const old = (await changing.forward(x)).output;
    await changing.update({ ...news, ...others });
    expect(bits((await before).output)).toEqual(bits(old));
    expect(bits((await changing.forward(x)).output)).toEqual(bits((await made.forward(x)).output));
    const gradients = await changing.backward(await saved({}, changing), dOutput);
    expect(bits(gradients)).toEqual(bits(await made.backward(await saved({}, made), dOutput)));
  });

  test("what was saved before an update is refused", async () => {
    const changing = await hw.multiHeadAttention(layerOptions);
    const kept = await saved({}, changing);
    const updating = changing.update({ Wq: weights.Wq! });
    await expect(changing.backward(kept, dOutput)).rejects.toMatchObject({
      name: "OptionError",
      message: "layer.backward: saved must be newer than the weights, but layer.update came after it",
    });
    await updating;
    kept.dispose();
  });

  test.each<[string, () => Promise<unknown>, string, RegExp]>([
    [
      "saved of another layer",
      async () => layer.backward(await saved({}, await hw.multiHeadAttention(layerOptions)), dOutput),
      "OptionError",
      /^layer\.backward: saved must come from a call of this layer/,
    ],
    [
      "something that was not saved",
      () => layer.backward({} as never, dOutput),
      "OptionError",
      /^layer\.backward: saved must be what layer\.forward returned with save: true, got /,
    ],
    [
      "what was disposed",
      async () => {
        const kept = await saved();
        kept.dispose();
        kept.dispose();
        return layer.backward(kept, dOutput);
      },
      "DisposedError",
      /^layer\.backward: saved was disposed/,
    ],
    [
      "dOutput of another shape",
      async () => layer.backward(await saved(), randomTensor(1, [2, 4, 3])),
      "ShapeError",
      /^layer\.backward: dOutput\.shape must be that of the output, \[2, 4, 5\], got \[2, 4, 3\]/,
    ],
    [
      "dBias of a call without bias",
      async () => layer.backward(await saved(), dOutput, { returns: { dBias: true } }),
      "OptionError",
      /^layer\.backward: returns\.dBias needs a call of forward with bias, this had none/,
    ],
    [
      "dContext of a call without contexts",
      async () => layer.backward(await saved(), dOutput, { returns: { dContext: true } }),
      "OptionError",
      /^layer\.backward: returns\.dContext needs a call of forward with key, this had none/,
    ],
    [
      "accumulate without a weight",
      async () => layer.backward(await saved(), dOutput, { accumulate: { Wq: randomTensor(1, [5, 8]) } }),
      "OptionError",
      /^layer\.backward: accumulate\.bq must be given/,
    ],
    [
      "results on a GPU that the engine lacks",
      async () => layer.backward(await saved(), dOutput, { location: "gpu" }),
      "UnsupportedError",
      /^layer\.backward: location "gpu" needs a layer on WebGPU/,
    ],
    [
      "save with a cache",
      async () => layer.forward(x, { save: true, cache: await layer.kvCache({ batchSize: 2 }) }),
      "UnsupportedError",
      /^layer\.forward: save is not offered with a cache/,
    ],
    [
      "an update of a weight that the layer lacks",
      () => layer.update({ Wqkv: weights.Wq! }),
      "OptionError",
      /^layer\.update: unknown option "Wqkv" in weights/,
    ],
    [
      "an update of another shape",
      () => layer.update({ Wq: randomTensor(1, [5, 4]) }),
      "ShapeError",
      /^layer\.update: weights\.Wq\.shape must be \[5, 8\], got \[5, 4\]/,
    ],
  ])("refuses %s", async (_, call, name, message) => {
    await expect(call()).rejects.toMatchObject({ name, message: expect.stringMatching(message) });
    expect((await layer.backward(await saved(), dOutput)).dInput.shape).toEqual(x.shape);
  });

  test("gives its memory back: with backward, dispose, and the layer", async () => {
    const small = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 40 * 2 ** 20 });
    const big = randomTensor(5, [2, 4000, INPUT]);
    const gradient = randomTensor(6, [2, 4000, INPUT]);
    const window = { causal: true, window: { left: 8 } } as const;
    for (let n = 0; n < 12; ++n) {
      const own = await small.multiHeadAttention(layerOptions);
      const { saved: first } = await own.forward(big, { ...window, save: true });
      const { saved: second } = await own.forward(big, { ...window, save: true });
      await own.forward(big, { ...window, save: true });
      await own.backward(first, gradient);
      second.dispose();
      own.dispose();
    }
    small.dispose();
  });
});

test("a layer of an instance that chooses its engine has gradients and new weights", async () => {
  const { x, dOutput, layer: options, weights } = setUp({ name: "" });
  const [auto, wasm] = [await createAttention({ backend: "auto" }), await createAttention({ backend: "wasm" })];
  const [a, b] = [await auto.multiHeadAttention(options), await wasm.multiHeadAttention(options)];
  for (const layer of [a, b]) await layer.update({ Wv: weights.Wk! });
  const [first, second] = [await a.forward(x, { save: true }), await b.forward(x, { save: true })];
  expect(bits(await a.backward(first.saved, dOutput))).toEqual(bits(await b.backward(second.saved, dOutput)));
  auto.dispose();
  wasm.dispose();
});
