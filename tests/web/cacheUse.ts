import { expect } from "@jest/globals";
import { tensor, toNested, type Attention, type KvCache, type Tensor } from "headwise";

import { largestDifference } from "./close.js";
import { editUses } from "./editUse.js";
import { int8Uses } from "./int8Use.js";
import { randomTensor } from "./randomTensor.js";
import { ringUses } from "./ringUse.js";

// Uses of a cache other than append and attend. The same tests run on all engines.

const [B, HKV, HQ, D, DV] = [2, 1, 2, 4, 3];
const keys = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, D]);
const values = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, DV]);
const queries = (seed: number, length: number) => randomTensor(seed, [B, HQ, length, D]);
const form = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV } as const;

/** The rows of [B, H, S, D], as nested arrays [B][H][S][D]. */
const rowsOf = (given: Tensor) => toNested<number[][][][]>(given as Tensor<"float32">);

type Use = (hw: Attention) => Promise<void>;

/** What a cache must do on every engine. The keys are the names of the tests. */
export const cacheUses: Readonly<Record<string, Use>> = {
  ...ringUses,
  ...editUses,
  ...int8Uses,

  "rewind to one number leaves shorter batches as they are, also where tokens were given positions": async (hw) => {
    for (const positions of [undefined, Int32Array.of(10, 11, 12)]) {
      const cache = await hw.kvCache(form);
      const given = positions && { positions };
      await cache.append(keys(1, 3), values(2, 3), { lengths: [3, 1], ...given });
      await cache.rewind(2);
      expect([cache.lengths, cache.appended]).toEqual([
        [2, 1],
        [2, 1],
      ]);
      const alone = await hw.kvCache(form);
      await alone.append(keys(1, 3), values(2, 3), { lengths: [2, 1], ...given });
      const more = { lengths: [1, 2], ...(positions && { positions: Int32Array.of(20, 21) }) };
      for (const each of [cache, alone]) await each.append(keys(3, 2), values(4, 2), more);
      const options = { alibiSlopes: [0.1, 0.2], returns: { output: true, probs: true } } as const;
      expect(await cache.attend(queries(5, 1), options)).toEqual(await alone.attend(queries(5, 1), options));
    }
  },

  "tokens that follow where the first ones were taken away stand behind those that are left": async (hw) => {
    const zeros = (count: number) => tensor(new Float32Array(count * 2), [1, 1, count, 2] as const);
    for (const rotary of [undefined, {}])
      for (const edit of [(cache: KvCache) => cache.remove(0, 2), (cache: KvCache) => cache.keep(0, [2, 3])]) {
        const cache = await hw.kvCache({ numKvHeads: 1, headDim: 2, ...(rotary && { rotary }) });
        await cache.append(zeros(4), zeros(4), { positions: Int32Array.of(0, 1, 2, 3) });
        await edit(cache);
        await cache.append(zeros(1), zeros(1));
        const loaded = await hw.kvCache({ from: await cache.save() });
        for (const each of [cache, loaded]) {
          const { scores } = await each.attend(zeros(1), { alibiSlopes: [1], returns: { scores: "biased" } });
          expect(Array.from(scores.data, (score) => 0 - score)).toEqual([2, 1, 0]);
        }
      }
  },

  "a ring that is rewound to its first tokens knows where they stand": async (hw) => {
    const zeros = (count: number, width: number) =>
      tensor(new Float32Array(count * width), [1, 1, count, width] as const);
    const ring = { keepFirst: 3, window: 1 };
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 2, ring });
    await cache.append(zeros(3, 2), zeros(3, 2), { positions: Int32Array.of(10, 20, 30) });
    await cache.append(zeros(3, 2), zeros(3, 2), { positions: Int32Array.of(40, 50, 60) });
    await cache.rewind(3);
    const seen = async () => {
      const options = { positions: Int32Array.of(0), alibiSlopes: [1], returns: { scores: "biased" } } as const;
      const { scores } = await cache.attend(zeros(1, 2), options);
      return Array.from(scores.data, (score) => -score);
    };
    expect(await seen()).toEqual([10, 20, 30]);
    await cache.append(zeros(1, 2), zeros(1, 2), { positions: Int32Array.of(70) });
    expect(await seen()).toEqual([10, 20, 30, 70]);
  },

  "step appends and attends, as append and attend do": async (hw) => {
    const [one, two] = [await hw.kvCache(form), await hw.kvCache(form)];
    for (const [step, length] of [5, 1, 1].entries()) {
      const options = { causal: true, returns: { output: true, lse: true } } as const;
      await one.append(keys(step, length), values(step + 10, length));
      const expected = await one.attend(queries(step + 20, length), options);
      const actual = await two.step(queries(step + 20, length), keys(step, length), values(step + 10, length), options);
      expect(actual).toEqual(expected);
    }
    expect(two.lengths).toEqual(one.lengths);
  },

  "step takes lengths, whose padding counts as no query": async (hw) => {
    const [one, two] = [await hw.kvCache(form), await hw.kvCache(form)];
    await one.append(keys(1, 3), values(2, 3), { lengths: [3, 1] });
    const expected = await one.attend(queries(3, 3), { causal: true });
    expect(await two.step(queries(3, 3), keys(1, 3), values(2, 3), { causal: true, lengths: [3, 1] })).toEqual(
      expected,
    );
    expect(two.lengths).toEqual([3, 1]);
  },

  "an append or a step that runs when it is aborted tells what it has done": async (hw) => {
    const [cache, same] = [await hw.kvCache(form), await hw.kvCache(form)];
    const aborted = async <T>(call: (signal: AbortSignal) => Promise<T>) => {
      const controller = new AbortController();
      const result = call(controller.signal);
      controller.abort();
      return result;
    };
    await aborted((signal) => cache.append(keys(1, 2), values(2, 2), { signal }));
    expect(cache.lengths).toEqual([2, 2]);
    await same.append(keys(1, 2), values(2, 2));
    const into = tensor(new Float32Array(B * HQ * DV), [B, HQ, 1, DV]);
    const one = [queries(3, 1), keys(4, 1), values(5, 1)] as const;
    const { output } = await aborted((signal) => cache.step(...one, { signal, into }));
    expect([output, cache.lengths]).toEqual([into, [3, 3]]);
    expect(Array.from(into.data)).toEqual(Array.from((await same.step(...one)).output.data));
  },

  "step that fails leaves the cache as it was": async (hw) => {
    const cache = await hw.kvCache({ ...form, capacity: 4 });
    await cache.append(keys(1, 2), values(2, 2));
    const before = await cache.save();
    const step = (length: number, options = {}) =>
      cache.step(queries(3, length), keys(4, length), values(5, length), options);
    const hidden = tensor(new Uint8Array(3), [3]);
    await expect(step(1, { mask: hidden, emptyRows: "throw" })).rejects.toMatchObject({ name: "EmptyRowError" });
    await expect(step(3)).rejects.toMatchObject({ name: "ShapeError" });
    await expect(step(1, { mask: tensor(new Uint8Array(5), [5]) })).rejects.toMatchObject({ name: "ShapeError" });
    await expect(step(1, { windows: {} })).rejects.toThrow(
      /^cache\.step: unknown option "windows"; did you mean "window"\?/,
    );
    expect(await cache.save()).toEqual(before);
    await step(1, { mask: [1, 1, 0] });
    expect(cache.length).toBe(3);
  },

  "read gives keys and values back, and where they stand": async (hw) => {
    const cache = await hw.kvCache(form);
    await cache.append(keys(1, 3), values(2, 3), { lengths: [3, 2] });
    const { key, value, positions } = await cache.read();
    const [k, v] = [rowsOf(keys(1, 3)), rowsOf(values(2, 3))];
    k[1]![0]![2] = [0, 0, 0, 0];
    v[1]![0]![2] = [0, 0, 0];
    expect([rowsOf(key), rowsOf(value)]).toEqual([k, v]);
    expect(toNested(positions)).toEqual([[0, 1, 2], [0, 1, -1]]); // oxfmt-ignore
    const part = await cache.read(1, 2);
    expect(rowsOf(part.key)).toEqual(k.map((heads) => heads.map((rows) => rows.slice(1, 2))));
    expect(toNested(part.positions)).toEqual([[1], [1]]);
    expect((await cache.read(3)).key.shape).toEqual([B, HKV, 0, D]);
    await expect(cache.read(4)).rejects.toThrow("cache.read: from must be an integer from 0 to 3, got 4");
    expect(cache.length).toBe(3);
  },

  "read of a ring tells the positions of what it kept": async (hw) => {
    const cache = await hw.kvCache({ ...form, ring: { keepFirst: 1, window: 2 } });
    await cache.append(keys(1, 5), values(2, 5));
    const { key, positions } = await cache.read();
    expect(toNested(positions)).toEqual([[0, 3, 4], [0, 3, 4]]); // oxfmt-ignore
    expect(rowsOf(key)).toEqual(rowsOf(keys(1, 5)).map((heads) => heads.map((rows) => [rows[0], rows[3], rows[4]])));
  },

  "read of float16 and int8 gives numbers, as near as the cache keeps them": async (hw) => {
    const given = rowsOf(keys(1, 3)).flat(3);
    const most = Math.max(...given.map(Math.abs));
    for (const [dtype, error] of [
      ["float16", 2 ** -11],
      ["int8", 0.5 / 127 + 2 ** -22],
    ] as const) {
      const cache = await hw.kvCache({ ...form, dtype });
      await cache.append(keys(1, 3), values(2, 3));
      const read = rowsOf((await cache.read()).key).flat(3);
      expect(Math.max(...read.map((number, n) => Math.abs(number - given[n]!)))).toBeLessThanOrEqual(error * most);
      // what `read` returns is what `attend` uses: a float32 cache of these rows gives nearly the same output
      const wide = await hw.kvCache(form);
      const content = await cache.read();
      await wide.append(content.key, content.value);
      const [a, b] = [await cache.attend(queries(3, 1)), await wide.attend(queries(3, 1))];
      expect(largestDifference(a.output.data, b.output.data)).toBeLessThan(1e-5);
    }
  },

  "a layer makes a cache that fits it": async (hw) => {
    const weights = { Wq: randomTensor(1, [6, 8]), Wk: randomTensor(2, [6, 4]), Wv: randomTensor(3, [6, 3]), Wo: randomTensor(4, [6, 5]) }; // oxfmt-ignore
    const layer = await hw.multiHeadAttention({ numHeads: 2, position: { kind: "rotary" }, weights });
    const cache = await layer.kvCache({ batchSize: 2, dtype: "float16" });
    const { batchSize, numKvHeads, headDim, valueDim, dtype } = cache;
    expect({ batchSize, numKvHeads, headDim, valueDim, dtype }).toEqual({
      batchSize: 2,
      numKvHeads: 1,
      headDim: 4,
      valueDim: 3,
      dtype: "float16", // oxfmt-ignore
    });
    const { output } = await layer.forward(randomTensor(5, [2, 3, 6]), { cache, causal: true });
    expect([output.shape, cache.length]).toEqual([[2, 3, 5], 3]);
    expect((await layer.kvCache()).batchSize).toBe(1);
    await expect(layer.kvCache({ rotary: {} })).rejects.toThrow("layer.kvCache: rotary must be absent");
    await expect(layer.kvCache({ headDim: 4 } as never)).rejects.toThrow('layer.kvCache: unknown option "headDim"');
    layer.dispose();
    await expect(layer.kvCache()).rejects.toThrow("layer.kvCache: the layer was disposed");
  },
};
