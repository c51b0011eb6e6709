import { expect } from "@jest/globals";
import { OptionError, tensor, type Attention, type CacheDtype, type KvCache, type RotaryAngles } from "headwise";

import { largestDifference } from "./close.js";
import { randomTensor } from "./randomTensor.js";
import { ringPlacesUses } from "./ringPlacesUse.js";

// Steps of several tokens over a ring, against a cache that keeps all tokens and a mask of what the ring shows. The same
// tests run on all engines.

const [B, HKV, HQ, D, DV] = [2, 1, 2, 4, 3];
const form = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV } as const;
/** Both sides store the same bits, so they differ by the order of sums: of at most 200 terms below 1. */
const TOLERANCE = 2e-5;

interface RingCase {
  readonly keepFirst: number;
  readonly window: number;
  readonly pieces: readonly number[];
  readonly dtype?: CacheDtype;
  readonly rotary?: RotaryAngles;
  /** The caller's own window. */
  readonly left?: number;
}

const CASES: readonly RingCase[] = [
  { keepFirst: 0, window: 4, pieces: [10, 1, 3] },
  { keepFirst: 0, window: 4, pieces: [4, 4, 2, 1, 1], dtype: "float16" },
  { keepFirst: 3, window: 5, pieces: [2, 9, 1, 30], dtype: "int8" },
  { keepFirst: 2, window: 1, pieces: [7, 2, 1], rotary: { base: 100 } },
  { keepFirst: 3, window: 50, pieces: [40, 90, 33, 1], rotary: { base: 100 } },
  { keepFirst: 2, window: 20, pieces: [50, 50], left: 12 },
  { keepFirst: 4, window: 20, pieces: [50, 50], left: 60 },
];

const tokensOf = (batches: number, seed: number, length: number) => ({
  query: randomTensor(seed, [batches, HQ, length, D]),
  key: randomTensor(seed + 1, [batches, HKV, length, D]),
  value: randomTensor(seed + 2, [batches, HKV, length, DV]),
});
const tokens = (seed: number, length: number) => tokensOf(B, seed, length);

/** The rows of values of a batch, of which there are `length`. */
const rowsOf = ({ data }: { readonly data: Float32Array }, b: number, length: number): number[][] =>
  Array.from({ length }, (_, j) => Array.from(data.subarray((b * length + j) * DV, (b * length + j + 1) * DV)));

/** Whether a ring shows the query at position p the token at position j, if p is the last token. */
const shows = ({ keepFirst, window }: RingCase, p: number, j: number) => j <= p && (j < keepFirst || j > p - window);

async function stepsLikeAFullCache(hw: Attention, ring: RingCase): Promise<void> {
  const { dtype = "float32", rotary, left, keepFirst, window } = ring;
  const options = { ...form, dtype, ...(rotary && { rotary }) };
  const [full, held] = [await hw.kvCache(options), await hw.kvCache({ ...options, ring: { keepFirst, window } })];
  let done = 0;
  for (const [n, length] of ring.pieces.entries()) {
    const { query, key, value } = tokens(10 * n, length);
    const total = done + length;
    const visible = Uint8Array.from({ length: length * total }, (_, at) =>
      Number(shows(ring, done + Math.floor(at / total), at % total)),
    );
    const call = {
      causal: true,
      returns: { output: true, lse: true, probs: true },
      ...(left !== undefined && { window: { left } }),
    } as const;
    const expected = await full.step(query, key, value, {
      ...call,
      mask: { data: visible, shape: [length, total], dtype: "bool" },
    });
    const actual = await held.step(query, key, value, call);
    for (const name of ["output", "lse"] as const)
      expect(largestDifference(actual[name].data, expected[name].data)).toBeLessThan(TOLERANCE);
    const columns = actual.probs.shape[3]!;
    expect(columns).toBeLessThanOrEqual(keepFirst + window + length);
    const position = (j: number) => (j < keepFirst ? j : j + total - columns);
    const shown = Float32Array.from(actual.probs.data, (_, at) => {
      const [row, j] = [Math.floor(at / columns), at % columns];
      return expected.probs.data[row * total + position(j)]!;
    });
    expect(largestDifference(actual.probs.data, shown)).toBeLessThan(TOLERANCE);
    done = total;
    expect([held.length, held.appended[0]]).toEqual([Math.min(done, keepFirst + window), done]);
  }
  full.dispose();
  held.dispose();
}

const nameOf = ({ keepFirst, window, pieces, dtype, rotary, left }: RingCase) =>
  `a ring of ${keepFirst} + ${window}, steps of ${pieces.join(", ")}${dtype ? `, ${dtype}` : ""}${rotary ? ", rotary" : ""}` +
  (left === undefined ? "" : `, a window of ${left}`);

async function filled(hw: Attention, length: number): Promise<KvCache> {
  const cache = await hw.kvCache({ ...form, ring: { keepFirst: 1, window: 6 } });
  const { key, value } = tokens(1, length);
  await cache.append(key, value);
  return cache;
}

type Use = (hw: Attention) => Promise<void>;

export const ringUses: Readonly<Record<string, Use>> = {
  ...ringPlacesUses,
  ...Object.fromEntries(
    CASES.map((ring): [string, Use] => [
      `${nameOf(ring)}: attends before it drops`,
      (hw) => stepsLikeAFullCache(hw, ring),
    ]),
  ),

  "a ring that gains ragged lengths shows each batch its own tokens, and no others": async (hw) => {
    const both = await filled(hw, 12);
    const { query, key, value } = tokens(20, 9);
    const returns = { output: true, key: true } as const;
    const ragged = await both.step(query, key, value, { causal: true, lengths: [9, 2], returns });
    expect(both.appended).toEqual([21, 14]);
    // The second batch by itself, with two tokens.
    const alone = await filled(hw, 12);
    const two = (given: typeof query, heads: number, width: number) => {
      const part = new Float32Array(B * heads * 2 * width);
      for (let row = 0; row < B * heads; ++row)
        part.set(given.data.subarray(row * 9 * width, (row * 9 + 2) * width), row * 2 * width);
      return tensor(part, [B, heads, 2, width]);
    };
    const short = await alone.step(two(query, HQ, D), two(key, HKV, D), two(value, HKV, DV), { causal: true });
    const headOf = (data: Float32Array, length: number, head: number) =>
      data.slice((HQ + head) * length * DV, ((HQ + head) * length + 2) * DV);
    for (let head = 0; head < HQ; ++head)
      expect(largestDifference(headOf(ragged.output.data, 9, head), headOf(short.output.data, 2, head))).toBeLessThan(
        TOLERANCE,
      );
    // The second batch has the keys that it held and its two tokens. The first has seven more rows.
    const columns = ragged.key.shape[2]!;
    expect(columns).toBe(16);
    const keysOfSecond = ragged.key.data.slice(columns * D);
    const isZero = Array.from({ length: columns }, (_, j) =>
      keysOfSecond.slice(j * D, (j + 1) * D).every((x) => x === 0),
    );
    expect(isZero).toEqual(Array.from({ length: columns }, (_, j) => j >= 9));
  },

  "without rules on positions a batch that gains fewer tokens sees what it sees alone, and its padding gives 0": async (
    hw,
  ) => {
    const weights = {
      Wq: randomTensor(1, [8, 8], 0.3),
      Wk: randomTensor(2, [8, 4], 0.3),
      Wv: randomTensor(3, [8, 4], 0.3),
      Wo: randomTensor(4, [8, 8], 0.3),
    };
    const layer = await hw.multiHeadAttention({ numHeads: 2, numKvHeads: 1, weights });
    const ring = { keepFirst: 1, window: 4 };
    const [start, x] = [randomTensor(20, [2, 9, 8]), randomTensor(21, [2, 3, 8])];
    const heads = (count: number, rows: number, of: number) => randomTensor(of, [2, count, rows, 4]);
    const [before, query, key] = [heads(1, 9, 22), heads(2, 3, 23), heads(1, 3, 24)];
    const steps: Float32Array[] = [];
    const forwards: Float32Array[] = [];
    for (const lengths of [
      [3, 1],
      [1, 1],
    ]) {
      // oxfmt-ignore
      const cache = await hw.kvCache({ batchSize: 2, numKvHeads: 1, headDim: 4, ring });
      await cache.append(before, before);
      steps.push((await cache.step(query, key, key, { lengths })).output.data);
      const inLayer = await layer.kvCache({ batchSize: 2, ring });
      await layer.forward(start, { cache: inLayer });
      forwards.push((await layer.forward(x, { cache: inLayer, appendLengths: lengths })).output.data);
    }
    const secondBatch = (data: Float32Array) => data.slice(data.length / 2);
    for (const [ragged, alone] of [steps, forwards]) {
      expect(largestDifference(secondBatch(ragged!), secondBatch(alone!))).toBeLessThan(20 * TOLERANCE);
      const rows = secondBatch(ragged!).slice(0, 12); // of the first head of the step, whose other rows are padding
      if (ragged === steps[0]) expect(rows.slice(4)).toEqual(new Float32Array(8));
      else expect(secondBatch(ragged!).slice(8)).toEqual(new Float32Array(16));
      expect(rows.slice(0, 4).some((number) => number !== 0)).toBe(true);
    }
  },

  "a row that sees no key is the mean of what its batch held and gained, if batches gain different numbers": async (
    hw,
  ) => {
    for (const dtype of ["float32", "float16", "int8"] as const)
      for (const [keepFirst, window] of [
        [0, 4],
        [2, 4],
        [3, 130],
      ] as const) {
        const ring = await hw.kvCache({ ...form, dtype, batchSize: 3, ring: { keepFirst, window } });
        const start = tokensOf(3, 80, window + 20);
        await ring.append(start.key, start.value, { lengths: [window + 20, 3, window + 9] });
        const [lengths, rows] = [[2, 5, 1], 6];
        const { query, key, value } = tokensOf(3, 90, rows);
        const mask = { data: new Uint8Array(1), shape: [1], dtype: "bool" } as const;
        const returns = { output: true, value: true, probs: true } as const;
        const seen = await ring.step(query, key, value, { lengths, mask, emptyRows: "uniform", returns });
        const held = [keepFirst + window, 3, keepFirst + window].map((count, b) => count + lengths[b]!);
        const columns = Math.max(...held);
        expect(seen.value.shape).toEqual([3, HKV, columns, DV]);
        const sources = lengths.map((gained, b) => {
          const all = [...rowsOf(start.value, b, window + 20), ...rowsOf(value, b, rows)];
          const before = [window + 20, 3, window + 9][b]!;
          const appended = [...all.slice(0, before), ...all.slice(window + 20, window + 20 + gained)];
          return [...appended.slice(0, keepFirst), ...appended.slice(keepFirst).slice(-(held[b]! - keepFirst))];
        });
        const close = dtype === "int8" ? 2e-2 : dtype === "float16" ? 2e-3 : TOLERANCE;
        sources.forEach((source, b) => {
          const shown = rowsOf(seen.value, b, columns);
          expect(
            shown
              .slice(held[b])
              .flat()
              .every((x) => x === 0),
          ).toBe(true);
          expect(largestDifference(shown.slice(0, held[b]).flat(), source.flat())).toBeLessThan(close);
          const mean = Array.from(
            { length: DV },
            (_, d) => source.reduce((sum, row) => sum + row[d]!, 0) / source.length,
          );
          const weights = Array.from({ length: columns }, (_, j) => (j < held[b]! ? 1 / held[b]! : 0));
          for (let i = 0; i < lengths[b]!; ++i) {
            const row = b * HQ * rows + i; // of the first head
            expect(largestDifference(seen.output.data.slice(row * DV, (row + 1) * DV), mean)).toBeLessThan(close);
            const probs = seen.probs.data.slice(row * columns, (row + 1) * columns);
            expect(largestDifference(probs, weights)).toBeLessThan(TOLERANCE);
          }
        });
        ring.dispose();
      }
  },

  "a step of fewer tokens than rows has the keys that the ring held and those tokens, and no others": async (hw) => {
    const ring = await hw.kvCache({ numKvHeads: 1, headDim: 4, ring: { window: 4 } });
    const rows = (from: number, count: number) =>
      tensor(
        Float32Array.from({ length: 4 * count }, (_, n) => from + Math.floor(n / 4)),
        [1, 1, count, 4],
      );
    await ring.append(rows(1, 9), rows(1, 9)); // 6, 7, 8 and 9 are held
    const [six, mask] = [rows(10, 6), { data: new Uint8Array(7), shape: [7], dtype: "bool" } as const];
    const returns = { output: true, key: true } as const;
    const { output, key } = await ring.step(six, six, six, { lengths: [3], mask, emptyRows: "uniform", returns });
    expect(key.shape).toEqual([1, 1, 7, 4]);
    expect(Array.from(key.data).filter((_, n) => n % 4 === 0)).toEqual([6, 7, 8, 9, 10, 11, 12]);
    expect(largestDifference(output.data.slice(0, 12), new Float32Array(12).fill(9))).toBeLessThan(TOLERANCE);
  },

  "queries that stand before the new tokens see what the ring held, and nothing that it had dropped": async (hw) => {
    for (const keepFirst of [0, 2]) {
      const window = 6;
      const [ring, full] = [await hw.kvCache({ ...form, ring: { keepFirst, window } }), await hw.kvCache(form)];
      const [before, chunk] = [tokens(60, 12), tokens(70, 9)];
      const lengths = [9, 2];
      for (const cache of [ring, full]) await cache.append(before.key, before.value);
      const total = 21;
      const visible = Uint8Array.from({ length: B * 9 * total }, (_, at) => {
        const [b, i, j] = [Math.floor(at / (9 * total)), Math.floor(at / total) % 9, at % total];
        const p = i + 5;
        return Number(j < 12 + lengths[b]! && (j < keepFirst || (j >= 12 - window && j > p - window)));
      });
      const call = { queryOffset: 5, lengths } as const;
      const mask = { data: visible, shape: [B, 1, 9, total], dtype: "bool" } as const;
      const expected = await full.step(chunk.query, chunk.key, chunk.value, { ...call, mask });
      const actual = await ring.step(chunk.query, chunk.key, chunk.value, call);
      expect(largestDifference(actual.output.data, expected.output.data)).toBeLessThan(TOLERANCE);
    }
  },

  "attend refuses queries whose keys a ring has dropped, and says what to do": async (hw) => {
    const cache = await filled(hw, 12);
    const query = randomTensor(5, [B, HQ, 3, D]);
    const refused = await cache.attend(query, { causal: true }).catch((error: unknown) => error);
    expect(OptionError.is(refused)).toBe(true);
    expect(String(refused)).toContain(
      "cache.attend: the query at position 9 of batch 0 sees keys from position 4 on, and the ring has dropped those before 6",
    );
    expect(String((refused as OptionError).hint)).toContain("step");
    await expect(cache.attend(query, { window: { left: 3 }, queryOffset: 8 })).rejects.toThrow("position 8 of batch 0");
    // What a ring holds can be seen: by queries without positions, by the last one, and by a shorter window.
    await cache.attend(query);
    await cache.attend(randomTensor(6, [B, HQ, 1, D]), { causal: true });
    await cache.attend(query, { causal: true, window: { left: 3 } });
  },

  "a step or forward of several tokens refuses queries whose keys the ring has dropped": async (hw) => {
    const cache = await filled(hw, 12);
    const before = await cache.save();
    const { query } = tokens(30, 5);
    const { key, value } = tokens(31, 2);
    const gone = "position 9 of batch 0 sees keys from position 4 on, and the ring has dropped those before 6";
    await expect(cache.step(query, key, value, { causal: true })).rejects.toThrow(gone);
    const weights = {
      Wq: randomTensor(1, [8, 8]),
      Wk: randomTensor(2, [8, 4]),
      Wv: randomTensor(3, [8, 3]),
      Wo: randomTensor(4, [6, 8]),
    };
    const layer = await hw.multiHeadAttention({ numHeads: HQ, weights });
    const [x, context] = [randomTensor(32, [B, 5, 8]), randomTensor(33, [B, 2, 8])];
    await expect(layer.forward(x, { key: context, cache, causal: true })).rejects.toThrow(gone);
    expect(await cache.save()).toEqual(before);
    await cache.step(query, key, value, { causal: true, window: { left: 2 } });
  },

  "a step of several tokens that fails leaves a ring as it was": async (hw) => {
    const cache = await filled(hw, 12);
    const before = await cache.save();
    const { query, key, value } = tokens(30, 5);
    const hidden = { data: new Uint8Array(1), shape: [1], dtype: "bool" } as const;
    await expect(
      cache.step(query, key, value, { causal: true, mask: hidden, emptyRows: "throw" }),
    ).rejects.toMatchObject({ name: "EmptyRowError" });
    expect(await cache.save()).toEqual(before);
  },

  "a layer over a ring equals one with a window over all tokens": async (hw) => {
    const weights = {
      Wq: randomTensor(1, [8, 8], 0.3),
      Wk: randomTensor(2, [8, 8], 0.3),
      Wv: randomTensor(3, [8, 8], 0.3),
      Wo: randomTensor(4, [8, 8], 0.3),
    };
    const layer = await hw.multiHeadAttention({ numHeads: 2, weights, position: { kind: "rotary" } });
    const [ring, all] = [await layer.kvCache({ ring: { window: 4 } }), await layer.kvCache()];
    for (const [n, length] of [6, 1, 3, 10].entries()) {
      const x = randomTensor(40 + n, [1, length, 8]);
      const seen = await layer.forward(x, { cache: ring, causal: true });
      const expected = await layer.forward(x, { cache: all, causal: true, window: { left: 3 } });
      expect(largestDifference(seen.output.data, expected.output.data)).toBeLessThan(
        20 * TOLERANCE, // numbers up to 20
      );
    }
    expect([ring.length, ring.appended[0]]).toEqual([4, 20]);
    const gone = layer.forward(randomTensor(50, [1, 3, 8]), { cache: ring, causal: true, attendOnly: true });
    await expect(gone).rejects.toThrow("the ring has dropped those before 16");
  },

  "a layer over a ring whose batches gain different numbers equals one for each batch alone": async (hw) => {
    const names = ["Wq", "Wk", "Wv", "Wo"] as const;
    const weights = Object.fromEntries(names.map((name, n) => [name, randomTensor(n + 1, [8, 8], 0.3)])) as {
      readonly [Name in (typeof names)[number]]: ReturnType<typeof randomTensor>;
    };
    const layer = await hw.multiHeadAttention({ numHeads: 2, weights, position: { kind: "rotary" } });
    const [before, gains] = [
      [9, 2, 6],
      [4, 7, 2],
    ];
    const ring = { keepFirst: 1, window: 4 };
    const together = await layer.kvCache({ batchSize: 3, ring });
    const [start, x] = [randomTensor(20, [3, 9, 8]), randomTensor(21, [3, 7, 8])];
    await layer.forward(start, { cache: together, causal: true, appendLengths: before });
    const returns = { output: true, probs: true, key: true } as const;
    const all = await layer.forward(x, { cache: together, causal: true, appendLengths: gains, returns });
    for (const b of [0, 1, 2]) {
      const alone = await layer.kvCache({ batchSize: 1, ring });
      const part = ({ data }: typeof x, length: number, count: number) =>
        tensor(data.slice(b * length * 8, (b * length + count) * 8), [1, count, 8]);
      await layer.forward(part(start, 9, before[b]!), { cache: alone, causal: true });
      const one = await layer.forward(part(x, 7, gains[b]!), { cache: alone, causal: true, returns });
      const output = all.output.data.slice(b * 56, b * 56 + gains[b]! * 8);
      expect(largestDifference(output, one.output.data)).toBeLessThan(20 * TOLERANCE);
      const [columns, own] = [all.probs.shape[3]!, one.probs.shape[3]!];
      for (const h of [0, 1]) {
        const keys = all.key.data.slice((b * 2 + h) * columns * 4, ((b * 2 + h) * columns + own) * 4);
        const keysAlone = one.key.data.slice(h * own * 4, (h + 1) * own * 4);
        expect(largestDifference(keys, keysAlone)).toBeLessThan(20 * TOLERANCE);
        for (let i = 0; i < gains[b]!; ++i) {
          const row = all.probs.data.slice(((b * 2 + h) * 7 + i) * columns, ((b * 2 + h) * 7 + i + 1) * columns);
          const rowAlone = one.probs.data.slice((h * gains[b]! + i) * own, (h * gains[b]! + i + 1) * own);
          expect(largestDifference(row.slice(0, own), rowAlone)).toBeLessThan(TOLERANCE);
          expect(row.slice(own).every((weight) => weight === 0)).toBe(true);
        }
      }
    }
  },
};
