// Rotary embeddings with angles of the caller's own, in every operation that turns. Every engine runs these tests.

import { expect, test } from "@jest/globals";
import type { Attention, RotaryAngles } from "headwise";

import { bits, largestDifference } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const [B, H, S, D] = [2, 2, 6, 8];
const PAIRS = D / 2;
const FREQUENCIES = [0.9, 0.31, 0.047, 0.0021];
const SHORT = [1, 1.1, 1.25, 1.5];
const LONG = [1, 2.5, 7.75, 30];
const BASE = 10000;
const theta = (factors: readonly number[]) => factors.map((factor, m) => 1 / (factor * BASE ** ((2 * m) / D)));

/** Tables of cos and sin for positions 0 to rows − 1, rounded once. */
function tables(frequencies: readonly number[], rows: number, factor = 1) {
  const table = (f: (x: number) => number) => ({
    data: Float32Array.from({ length: rows * PAIRS }, (_, n) =>
      Math.fround(factor * f(Math.floor(n / PAIRS) * frequencies[n % PAIRS]!)),
    ),
    shape: [rows, PAIRS],
  });
  return { cos: table(Math.cos), sin: table(Math.sin) };
}

const AMPLITUDE = Math.sqrt(1 + Math.log(4) / Math.log(8));
const longrope = (sequenceLength?: number) =>
  ({ kind: "longrope", factor: 4, originalLength: 8, shortFactor: SHORT, longFactor: LONG, sequenceLength }) as const;

/** Angles, and the tables that they must equal. */
const KINDS: Readonly<Record<string, { readonly given: RotaryAngles; readonly same: RotaryAngles }>> = {
  frequencies: { given: { frequencies: FREQUENCIES }, same: tables(FREQUENCIES, 32) },
  "frequencies of float64 with a factor": {
    given: { frequencies: Float64Array.from(FREQUENCIES), attentionFactor: 1.25 },
    same: tables(FREQUENCIES, 32, 1.25),
  },
  "short longrope": { given: { scaling: longrope(8) }, same: tables(theta(SHORT), 32, AMPLITUDE) },
  "long longrope": { given: { scaling: longrope(9) }, same: tables(theta(LONG), 32, AMPLITUDE) },
};

const weights = Object.fromEntries(
  ["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [H * D, H * D])]),
) as Record<"Wq" | "Wk" | "Wv" | "Wo", ReturnType<typeof randomTensor>>;

/** Whether two results agree but for the last bits of cos and sin, which JavaScript may round otherwise. */
function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  expect(largestDifference(actual, expected)).toBeLessThan(4e-6);
}

export function ownAnglesTests(instance: () => Attention): void {
  const x = randomTensor(9, [B, S, H * D]);
  const heads = (seed: number, length = S) => randomTensor(seed, [B, H, length, D]);
  const layerWith = (rotary: RotaryAngles) =>
    instance().multiHeadAttention({ numHeads: H, weights, position: { kind: "rotary", ...rotary } });

  test.each(Object.entries(KINDS))(
    "%s: a layer, its gradients, a cache and rotaryEmbedding",
    async (_, { given, same }) => {
      const hw = instance();
      const [layer, plain] = await Promise.all([layerWith(given), layerWith(same)]);
      const [a, b] = [await layer.forward(x, { save: true }), await plain.forward(x, { save: true })];
      expectClose(a.output.data, b.output.data);
      const dOutput = randomTensor(10, [B, S, H * D]);
      const [da, db] = [await layer.backward(a.saved, dOutput), await plain.backward(b.saved, dOutput)];
      expectClose(da.dInput.data, db.dInput.data);

      const turned = await hw.rotaryEmbedding(heads(11), given);
      expectClose(turned.data, (await hw.rotaryEmbedding(heads(11), same)).data);

      const form = { batchSize: B, numKvHeads: H, headDim: D };
      const caches = [
        await hw.kvCache({ ...form, rotary: given }),
        await hw.kvCache({ ...form, rotary: same }),
      ] as const;
      const outputs = [];
      for (const cache of caches) {
        await cache.append(heads(12), heads(13));
        outputs.push(await cache.step(heads(14, 1), heads(15, 1), heads(16, 1)));
      }
      expectClose(outputs[0]!.output.data, outputs[1]!.output.data);
      const loaded = await hw.kvCache({ from: await caches[0].save() });
      const fork = await caches[0].fork();
      const ask = heads(17, 1);
      const expected = bits((await caches[0].attend(ask)).output);
      expect(bits((await loaded.attend(ask)).output)).toEqual(expected);
      expect(bits((await fork.attend(ask)).output)).toEqual(expected);
      expect(await loaded.save()).toEqual(await caches[0].save());
      const loadedTables = await hw.kvCache({ from: await caches[1].save() });
      expect(bits((await loadedTables.attend(ask)).output)).toEqual(bits((await caches[1].attend(ask)).output));
      for (const held of [...caches, fork, loaded, loadedTables, layer, plain]) held.dispose();
    },
  );

  test("longrope without sequenceLength takes the list that the call's length asks for, and refuses caches", async () => {
    const hw = instance();
    const layer = await layerWith({ scaling: longrope() });
    for (const [length, decided] of [
      [6, 8],
      [9, 9],
    ] as const) {
      const given = randomTensor(18, [1, length, H * D]);
      const fixed = await layerWith({ scaling: longrope(decided) });
      expect(bits((await layer.forward(given)).output)).toEqual(bits((await fixed.forward(given)).output));
      fixed.dispose();
    }
    const cache = await layer.kvCache({ batchSize: B });
    await expect(layer.forward(x, { cache })).rejects.toThrow(
      /position\.scaling\.sequenceLength must be given with a cache/,
    );
    await expect(hw.kvCache({ numKvHeads: H, headDim: D, rotary: { scaling: longrope() } })).rejects.toThrow(
      /rotary\.scaling\.sequenceLength must be given/,
    );
    cache.dispose();
    layer.dispose();
  });

  test("a position without a row of the tables is refused before any work", async () => {
    const hw = instance();
    const rotary = tables(FREQUENCIES, 7);
    const cache = await hw.kvCache({ batchSize: B, numKvHeads: H, headDim: D, rotary });
    await cache.append(heads(12), heads(13));
    const before = await cache.save();
    const message = /positions must be rows of cos and sin, 0( to |\.\.)6, got 7/;
    await expect(cache.append(heads(14, 2), heads(15, 2))).rejects.toThrow(message);
    await expect(cache.step(heads(14, 2), heads(15, 2), heads(16, 2))).rejects.toThrow(message);
    await expect(cache.attend(heads(14, 1), { queryOffset: 7 })).rejects.toThrow(message);
    expect(await cache.save()).toEqual(before);
    await cache.append(heads(14, 2), heads(15, 2), { lengths: [1, 0] }); // padding needs no row
    expect(cache.appended).toEqual([7, 6]);
    const layer = await layerWith(rotary);
    await expect(layer.forward(randomTensor(1, [1, 8, H * D]))).rejects.toThrow(message);
    await layer.forward(randomTensor(1, [1, 8, H * D]), { queryLengths: [7], keyLengths: [7] });
    layer.dispose();
    cache.dispose();
  });

  test("keys that frequencies have turned move to other positions, keys that tables have turned do not", async () => {
    const hw = instance();
    const form = { numKvHeads: H, headDim: D };
    const one = (seed: number, length: number) => randomTensor(seed, [1, H, length, D]);
    const rotary = { frequencies: FREQUENCIES, attentionFactor: 1.5 };
    const cache = await hw.kvCache({ ...form, rotary });
    const expected = await hw.kvCache({ ...form, rotary });
    for (const made of [cache, expected]) await made.append(one(1, 2), one(2, 2));
    await cache.append(one(3, 1), one(4, 1));
    for (const made of [cache, expected]) await made.append(one(5, 2), one(6, 2));
    await cache.remove(2, 3);
    const ask = one(7, 1);
    expectClose((await cache.attend(ask)).output.data, (await expected.attend(ask)).output.data);
    const ofTables = await hw.kvCache({ ...form, rotary: tables(FREQUENCIES, 9) });
    await ofTables.append(one(1, 5), one(2, 5));
    await expect(ofTables.remove(2, 3)).rejects.toThrow(/tables of cos and sin cannot be turned to other positions/);
    await ofTables.remove(3, 5);
    expect(ofTables.length).toBe(3);
    for (const made of [cache, expected, ofTables]) made.dispose();
  });

  test.each([
    [{ frequencies: [1, 2, 3] }, /frequencies must have length 4, got 3/],
    [{ frequencies: [1, 2, 3, NaN] }, /frequencies\[3\] must be finite, got NaN/],
    [{ frequencies: FREQUENCIES, base: 500 }, /base must be absent when frequencies are given/],
    [{ frequencies: FREQUENCIES, attentionFactor: 0 }, /attentionFactor must be greater than 0, got 0/],
    [{ attentionFactor: 2 }, /attentionFactor must be absent without frequencies, got 2/],
    [{ cos: tables(FREQUENCIES, 3).cos }, /cos and sin must be given together/],
    [{ ...tables(FREQUENCIES, 3), frequencies: FREQUENCIES }, /frequencies must be absent when cos and sin are given/],
    [{ scaling: { ...longrope(), longFactor: undefined } }, /longFactor must be given: rotaryDim \/ 2 numbers/],
    [{ scaling: { ...longrope(), shortFactor: [1, 1, 0, 1] } }, /shortFactor\[2\] must be greater than 0, got 0/],
    [{ scaling: { ...longrope(), originalLength: 1 } }, /originalLength must be greater than 1 for "longrope", got 1/],
  ])("wrong angles are refused by name (%#)", async (rotary, message) => {
    await expect(layerWith(rotary as RotaryAngles)).rejects.toThrow(message);
    await expect(instance().kvCache({ numKvHeads: H, headDim: D, rotary: rotary as RotaryAngles })).rejects.toThrow(
      message,
    );
    await expect(instance().rotaryEmbedding(heads(1), rotary as RotaryAngles)).rejects.toThrow(message);
  });
}
