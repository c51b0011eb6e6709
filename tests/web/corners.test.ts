// Corners that public reports, hostile input and newcomers have found, each with the smallest case that shows it.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, ShapeError, type HeadwiseError, type Attention, type FloatTensor } from "headwise";
import { formula } from "headwise/formula";
import {
  adamW,
  clipGradients,
  crossEntropy,
  flatten,
  loadSafetensors,
  saveSafetensors,
  unflatten,
} from "headwise/train";

import type { Graph } from "../../web/src/formula/graph.js";
import { knownGraph } from "../../web/src/formula/knownGraph.js";
import { Queue } from "../../web/src/turn/queue.js";
import { randomTensor } from "./randomTensor.js";
import { thrownBy } from "./thrownBy.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const floats = (data: number[], shape: number[]) => ({ data: Float32Array.from(data), shape });

test("calls that always overlap leave nothing behind", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const queue = new Queue();
  const overlap = async (count: number) => {
    let before = queue.run(() => Promise.resolve());
    for (let n = 0; n < count; ++n) {
      const next = queue.run(() => Promise.resolve());
      await before;
      before = next;
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const begin = await overlap(20_000);
  // 63 bytes a call were 6 MB.
  expect((await overlap(100_000)) - begin).toBeLessThan(2_000_000);
});

test("a softcap that is too small for float32 caps every score, as one just above it", async () => {
  const [query, key, value] = [1, 2, 3].map((seed) => randomTensor(seed, [1, 1, 4, 8])) as [
    FloatTensor,
    FloatTensor,
    FloatTensor,
  ];
  const capped = (softcap: number) =>
    hw.scaledDotProductAttention(query, key, value, { softcap, returns: { output: true, probs: true } });
  const { probs } = await capped(1e-50);
  expect([...new Set(probs.data)]).toEqual([0.25]);
  expect(await capped(1e-50)).toEqual(await capped(2 ** -126));
});

describe("An update of a layer that does not happen", () => {
  const weights = () =>
    Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [8, 8])])) as never;
  const x = randomTensor(9, [1, 3, 8]);

  test("leaves what was saved usable, aborted or refused", async () => {
    const layer = await hw.multiHeadAttention({ numHeads: 2, weights: weights() });
    const { saved } = await layer.forward(x, { save: true });
    const signal = AbortSignal.abort(new Error("no"));
    await expect(layer.update({ Wq: randomTensor(5, [8, 8]) }, { signal })).rejects.toThrow("no");
    await expect(layer.update({ Wq: randomTensor(5, [7, 8]) })).rejects.toThrow(ShapeError);
    await layer.backward(saved, x, { keep: true });
    await layer.update({ Wq: randomTensor(5, [8, 8]) });
    await expect(layer.backward(saved, x)).rejects.toThrow("layer.update came after it");
    layer.dispose();
  });
});

describe("An empty tensor with a huge batch", () => {
  test.each([2 ** 17 + 1, 3e7, 2 ** 31 - 1])("of %i is refused at once", async (batch) => {
    const empty = floats([], [batch, 1, 0, 1]);
    const refused = hw.scaledDotProductAttention(empty, empty, empty);
    await expect(refused).rejects.toThrow(ShapeError);
    await expect(refused).rejects.toThrow(
      `scaledDotProductAttention: query.shape[0] (batchSize) of an empty tensor must be at most 131072, got ${batch}`,
    );
  });

  test("of 100 gives an empty result", async () => {
    const empty = floats([], [100, 1, 0, 1]);
    expect((await hw.scaledDotProductAttention(empty, empty, empty)).output.shape).toEqual([100, 1, 0, 1]);
  });
});

describe("Names of parameters", () => {
  const leaf = floats([1], [1]);

  test("with thousands of parts, and trees as deep, are refused", () => {
    const long = Array(5000).fill("a").join(".");
    expect(thrownBy(() => unflatten({ [long]: leaf })).message).toContain("must have at most 100 parts, got 5000");
    let deep: object = leaf;
    for (let n = 0; n < 5000; ++n) deep = { a: deep };
    for (const call of [flatten, saveSafetensors, adamW])
      expect(thrownBy(() => call(deep as never)).message).toContain("must be nested at most 100 deep");
  });

  test("may be 20,000, and come back as they were", () => {
    const many = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`layers.${n % 100}.part${Math.floor(n / 100)}.w`, leaf]),
    );
    expect(Object.keys(flatten(unflatten(many))).sort()).toEqual(Object.keys(many).sort());
    expect(Object.keys(flatten(loadSafetensors(saveSafetensors(many))))).toHaveLength(20_000);
  });

  test("that are beginnings of others are refused in both orders", () => {
    for (const names of [
      ["a.b", "a.b.c"],
      ["a.b.c", "a.b"],
    ])
      // oxfmt-ignore
      expect(thrownBy(() => unflatten(Object.fromEntries(names.map((name) => [name, leaf])))).message).toBe(
        'unflatten: flat has "a.b", which is the beginning of another name',
      );
  });
});

describe("A .safetensors file", () => {
  const fileOf = (header: string, bytes: number) => {
    const text = new TextEncoder().encode(header);
    const file = new Uint8Array(8 + text.length + bytes);
    new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
    file.set(text, 8);
    return file;
  };
  const entry = (from: number, to: number) =>
    `{"dtype":"F32","shape":[${(to - from) / 4}],"data_offsets":[${from},${to}]}`;

  test.each([
    ["two tensors of one name", `{"a":${entry(0, 4)},"a":${entry(4, 8)}}`, 8, "two tensors have the same name"],
    ["one name written in two ways", `{"a":${entry(0, 4)},"\\u0061":${entry(4, 8)}}`, 8, "two tensors have the same name"],
    ["a hole between tensors", `{"a":${entry(0, 4)},"b":${entry(8, 12)}}`, 12, 'the bytes before tensor "b" belong to no tensor'],
    ["a hole at its beginning", `{"a":${entry(4, 8)}}`, 8, 'the bytes before tensor "a" belong to no tensor'],
    ["bytes at its end", `{"a":${entry(0, 4)}}`, 12, "its last 8 bytes belong to no tensor"],
  ])("with %s is damaged", (_, header, bytes, why) => {
    const error = thrownBy(() => loadSafetensors(fileOf(header, bytes)));
    expect([error.code, error.message]).toEqual(["CORRUPT_DATA", `loadSafetensors: bytes is no .safetensors file, or is damaged: ${why}`]); // oxfmt-ignore
  }); // oxfmt-ignore

  test("cannot have a tensor of the name of its notes", () => {
    const error = thrownBy(() => saveSafetensors({ __metadata__: floats([1], [1]) }));
    expect(error.message).toContain('no tensor may have the name "__metadata__"');
  });

  test("may have notes, nested names and quotes in names", () => {
    const file = fileOf(`{"__metadata__":{"a":"{\\"b\\": [1]}"},"x\\"y:{":${entry(0, 4)}}`, 4);
    expect(Object.keys(flatten(loadSafetensors(file)))).toEqual(['x"y:{']);
  });
});

test.each([0, 1e3, 1e7, 1e14, 1e30])("crossEntropy of two equal logits of %p is ln 2", (size) => {
  const { loss } = crossEntropy(floats([size, size], [1, 2]), Int32Array.of(1));
  expect(loss).toBeCloseTo(Math.LN2, 12);
});

describe("An array that stands twice in a tree", () => {
  test("counts once in the norm of gradients, and is scaled once", () => {
    const tied = floats([3, 4], [2]);
    expect(clipGradients({ a: tied, b: tied }, 1)).toBe(5);
    expect([...tied.data]).toEqual([Math.fround(3 / 5), Math.fround(4 / 5)]);
    const again = { data: tied.data, shape: [1, 2] };
    expect(clipGradients({ a: tied, b: again }, 10)).toBeCloseTo(1, 6);
  });

  test("is one parameter of adamW: one step, with the sum of its gradients", () => {
    const step = (parameters: object, gradients: object) => {
      const optimizer = adamW(parameters as never, { learningRate: 0.1 });
      optimizer.step(gradients as never);
      optimizer.step(gradients as never);
      return optimizer;
    };
    const alone = floats([1, 2], [2]);
    step({ a: alone }, { a: floats([0.5, -1], [2]) });
    const tied = floats([1, 2], [2]);
    const { state } = step({ a: tied, b: tied }, { a: floats([0.25, -1], [2]), b: floats([0.25, 0], [2]) });
    expect([...tied.data]).toEqual([...alone.data]);
    const { mean } = state as unknown as { mean: { a: { data: Float32Array }; b: { data: Float32Array } } };
    expect([...mean.a.data]).toEqual([...mean.b.data]);
    const same = floats([0.5, -1], [2]);
    const once = floats([1, 2], [2]);
    step({ a: once, b: once }, { a: same, b: same });
    expect([...once.data]).toEqual([...alone.data]);
  });
});

describe("A loop of awaited calls", () => {
  const x = randomTensor(1, [1, 2, 64, 16]);
  /** How many timers fire during a loop of at most `calls` calls, which ends after the third timer. */
  async function timersDuring(instance: Attention, calls: number): Promise<number> {
    let timers = 0;
    const timer = setInterval(() => (timers += 1), 1);
    for (let n = 0; n < calls && timers < 3; ++n) await instance.scaledDotProductAttention(x, x, x);
    clearInterval(timer);
    return timers;
  }

  test("lets timers and events in", async () => {
    expect(await timersDuring(hw, 1_000_000)).toBe(3);
  });

  test("ends when a signal aborts", async () => {
    const signal = AbortSignal.timeout(30);
    const loop = async () => {
      for (let n = 0; n < 1_000_000; ++n) await hw.scaledDotProductAttention(x, x, x, { signal });
    };
    await expect(loop()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("lets none in with yield: false", async () => {
    const instance = await createAttention({ backend: "wasm", threads: 1, yield: false });
    expect(await timersDuring(instance, 3000)).toBe(0);
    instance.dispose();
  });
});

describe("causal: true with the lengths of keys alone", () => {
  const x = randomTensor(1, [2, 1, 4, 2]);

  test("is refused where it would move the diagonal, and the message says what to give", async () => {
    const refused = hw.scaledDotProductAttention(x, x, x, { causal: true, keyLengths: [4, 2] });
    await expect(refused).rejects.toMatchObject({
      message:
        "scaledDotProductAttention: keyLengths[1] must be at least the number of queries with causal: true and " +
        "without queryLengths, got 2 and 4",
    });
    const { hint } = (await refused.catch((error: unknown) => error)) as HeadwiseError;
    expect(hint).toContain("queryLengths");
    expect(hint).toContain('"upper-left"');
  });

  test("is computed with queryLengths, from the upper left, and where no length is short", async () => {
    const run = (options: object) => hw.scaledDotProductAttention(x, x, x, options);
    await run({ causal: true, keyLengths: [4, 2], queryLengths: [4, 2] });
    await run({ causal: "upper-left", keyLengths: [4, 2] });
    await run({ causal: true, keyLengths: [4, 4] });
    await run({ causal: true, keyLengths: [4, 2], queryOffset: 0 });
  });
});

describe("Rows that a large finite bias hides", () => {
  test.each([0, -1e4, -1e6, -1e9, -3.4028234663852886e38, 1e9])("of %p have weights that sum to 1 in gradients", async (size) => {
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor(seed, [1, 1, 4, 8])) as [Rows, Rows, Rows];
    type Rows = ReturnType<typeof randomTensor>;
    const bias = { data: new Float32Array(16).fill(size), shape: [4, 4] };
    const { output, lse } = await hw.scaledDotProductAttention(q, k, v, { bias, returns: { output: true, lse: true } });
    const dOutput = { data: new Float32Array(32).fill(1), shape: [1, 1, 4, 8] };
    const { dValue } = await hw.attentionBackward({ query: q, key: k, value: v, output, lse, dOutput, bias });
    // dV of a key is the sum of its weights, if dO is 1: four rows have weights of 4 in all.
    const sum = Array.from({ length: 4 }, (_, j) => dValue.data[8 * j]!).reduce((a, b) => a + b);
    expect(sum).toBeCloseTo(4, 5);
  }); // oxfmt-ignore
});

test("A row whose visible scores are all −∞ is NaN in every result", async () => {
  const query = floats([-1.8e19, 0], [1, 1, 1, 2]);
  const key = floats([1.8e19, 0, 1.8e19, 0, 1.8e19, 0], [1, 1, 3, 2]);
  const value = floats([1, 2, 3], [1, 1, 3, 1]);
  const options = {
    scale: 1,
    bias: floats([-3e38, -3e38, -3e38], [3]),
    mask: { data: Uint8Array.of(1, 1, 0), shape: [3] },
    returns: { output: true, probs: true, lse: true, entropy: true },
  } as const;
  const { output, probs, lse, entropy } = await hw.scaledDotProductAttention(query, key, value, options);
  const all = [output, lse, entropy].flatMap(({ data }) => [...data]);
  expect([...all, ...probs.data]).toEqual([NaN, NaN, NaN, NaN, NaN, 0]);
});

test("scale: null and mask: null are as absent", async () => {
  const x = randomTensor(1, [1, 1, 4, 2]);
  const found = await hw.scaledDotProductAttention(x, x, x, { scale: null, mask: null } as never);
  expect([...found.output.data]).toEqual([...(await hw.scaledDotProductAttention(x, x, x)).output.data]);
});

describe("Messages to newcomers say what to write:", () => {
  const x = randomTensor(1, [1, 2, 4, 8]);
  const y = randomTensor(1, [1, 4, 8]);
  const messageOf = async (call: () => Promise<unknown>) => {
    const error = (await call().catch((thrown: unknown) => thrown)) as HeadwiseError;
    return `${error.message} ${error.hint}`;
  };
  const weights = (names: Readonly<Record<string, number[]>>) =>
    Object.fromEntries(Object.entries(names).map(([name, shape]) => [name, randomTensor(2, shape)])) as never;

  test.each<[string, () => Promise<unknown>, string]>([
    ["probs", () => hw.scaledDotProductAttention(x, x, x, { probs: true } as never), "put it in returns: { returns: { probs: true } }"],
    ["topK", () => hw.scaledDotProductAttention(x, x, x, { topK: 5, returns: { output: true } } as never), "put it in returns: { returns: { topK: { k: 5 } } }"],
    ["options in the place of value", () => hw.scaledDotProductAttention(x, x, { causal: true } as never), "query, key and value come before the options"],
    ["three tensors", async () => (await layer()).forward(y, y as never), "contexts of keys and values are options: { key, value }"],
    ["a transposed in_proj_weight", () => hw.multiHeadAttention({ numHeads: 2, weights: weights({ in_proj_weight: [8, 24], "out_proj.weight": [8, 8] }) }), "shape must be [3 · embedDim, embedDim], got [8, 24], which is transposed"],
    ["a transposed Wqkv", () => hw.multiHeadAttention({ numHeads: 2, weights: weights({ Wqkv: [24, 8], Wo: [8, 8] }) }), "shape must be [embedDim, 3 · embedDim], got [24, 8], which is transposed"],
    ["names with a prefix", () => hw.multiHeadAttention({ numHeads: 2, weights: weights({ "encoder.layers.0.self_attn.in_proj_weight": [24, 8] }) }), 'Take the prefix "encoder.layers.0.self_attn." off the names'],
    ["a fake signal", () => hw.scaledDotProductAttention(x, x, x, { signal: { aborted: false, addEventListener: 1 } } as never), "signal must be an AbortSignal"],
    ["a class as a listener", () => createAttention({ backend: "wasm", onProgress: class {} as never }), "onProgress must be a function"],
  ])("%s", async (_, call, message) => {
    expect(await messageOf(call)).toContain(message);
  }); // oxfmt-ignore

  const layer = () =>
    hw.multiHeadAttention({ numHeads: 2, weights: weights({ Wq: [8, 8], Wk: [8, 8], Wv: [8, 8], Wo: [8, 8] }) });

  test("kvCache and loadCache take a signal", async () => {
    const signal = AbortSignal.abort(new Error("no"));
    const form = { numKvHeads: 1, headDim: 4 };
    await expect(hw.kvCache({ ...form, signal })).rejects.toThrow("no");
    const saved = await (await hw.kvCache(form)).save();
    await expect(hw.kvCache({ from: saved, signal })).rejects.toThrow("no");
  });
});

describe("A formula", () => {
  const x = randomTensor(1, [1, 1, 3, 4]);

  test("keeps its graph, whatever the names in another one are", () => {
    const node = { op: "variable", of: [], variable: "s" } as const;
    const parameter = (name: string) => ({ name, rank: 0, integer: false }) as const;
    const honest: Graph = { nodes: [node], result: 0, parameters: [parameter("a"), parameter("c")] };
    const forged: Graph = { nodes: [{ ...node }], result: 0, parameters: [parameter("a,0,false;c")] };
    knownGraph(forged);
    expect(knownGraph(honest).parameters.map(({ name }) => name)).toEqual(["a", "c"]);
    expect(knownGraph({ ...honest, parameters: [parameter("a"), parameter("c")] })).toBe(knownGraph(honest));
  });

  test("with a remainder of numbers has the value of the same remainder of parameters", async () => {
    const scoresOf = async (score: ReturnType<typeof formula>) => {
      const { scores } = await hw.scaledDotProductAttention(x, x, x, { score, returns: { scores: "formula" } });
      return [...scores.data];
    };
    for (const [a, b] of [
      [0.1, 1e-30],
      [7.5, 2],
      [2 ** 30, 3],
    ] as const)
      // oxfmt-ignore
      expect(await scoresOf(formula(`s + ${a} % ${b}`))).toEqual(await scoresOf(formula("s + a % c", { a, c: b })));
  });
});
