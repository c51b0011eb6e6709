import { expect } from "@jest/globals";
import { OptionError, UnsupportedError, type Attention, type CacheDtype, type KvCacheOptions } from "headwise";

import { bits, largestDifference } from "./close.js";
import { randomTensor } from "./randomTensor.js";

// Rings whose rotary positions are places in the cache, as StreamingLLM defines them, against attention in double to keys
// that are turned by their places. A query's token is then the last one of the ring. The same tests run on all engines.

const [B, HKV, HQ, DV] = [2, 1, 2, 8];
const BASE = 100;

interface PlacesCase {
  readonly keepFirst: number;
  readonly window: number;
  /** Tokens that are appended first. */
  readonly before?: number;
  /** Steps of so many tokens. */
  readonly pieces: readonly number[];
  readonly headDim?: number;
  readonly dtype?: CacheDtype;
}

const CASES: readonly PlacesCase[] = [
  { keepFirst: 2, window: 6, pieces: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] },
  { keepFirst: 0, window: 3, pieces: [2, 1, 4, 1] },
  { keepFirst: 5, window: 1, pieces: [9, 1, 3] },
  { keepFirst: 3, window: 20, before: 90, pieces: [1, 30, 2] },
  { keepFirst: 40, window: 30, before: 100, pieces: [1, 20], headDim: 64 },
  { keepFirst: 4, window: 600, before: 700, pieces: [1, 3, 12], headDim: 64 },
  { keepFirst: 3, window: 20, before: 40, pieces: [1], dtype: "float16" },
  { keepFirst: 3, window: 20, before: 40, pieces: [20], headDim: 64, dtype: "float16" },
  { keepFirst: 3, window: 20, before: 40, pieces: [1, 20], headDim: 32, dtype: "int8" },
];

/** Float32 rounds the turned rows. Other types round the keys and values that they store. */
const TOLERANCE: Readonly<Record<CacheDtype, number>> = { float32: 2e-5, float16: 3e-3, int8: 4e-2 };

const nameOf = ({ keepFirst, window, before = 0, pieces, headDim = 8, dtype = "float32" }: PlacesCase) =>
  `places in a ring of ${keepFirst} + ${window}, ${before} tokens and steps of ${pieces.join(", ")}, ${dtype}, width ${headDim}`;

/** Row s of head h of [B, H, S, width]. */
function row({ data, shape }: ReturnType<typeof randomTensor>, b: number, h: number, s: number): number[] {
  const [, heads, length, width] = shape as [number, number, number, number];
  const at = ((b * heads + h) * length + s) * width;
  return [...data.subarray(at, at + width)];
}

/** A row turned by a position, in double: pairs are half a width apart. */
function turned(x: readonly number[], position: number): number[] {
  const half = x.length / 2;
  return x.map((_, d) => {
    const angle = position * BASE ** ((-2 * (d % half)) / x.length);
    const [first, second] = [x[d % half]!, x[(d % half) + half]!];
    return d < half
      ? first * Math.cos(angle) - second * Math.sin(angle)
      : second * Math.cos(angle) + first * Math.sin(angle);
  });
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, n) => sum + x * b[n]!, 0);

type Tokens = Readonly<Record<"query" | "key" | "value", ReturnType<typeof randomTensor>>>;

/** The tokens that a ring shows the query at position p. */
const seenBy = ({ keepFirst, window }: PlacesCase, p: number) =>
  Array.from({ length: p + 1 }, (_, j) => j).filter((j) => j < keepFirst || j > p - window);

/** The exact result of the query of token p and head h. */
function exactly(ring: PlacesCase, { query, key, value }: Tokens, b: number, h: number, p: number) {
  const seen = seenBy(ring, p);
  const q = turned(row(query, b, h, p), seen.length - 1);
  const scores = seen.map((s, place) => dot(q, turned(row(key, b, 0, s), place)) / Math.sqrt(q.length));
  const most = Math.max(...scores);
  const sum = scores.reduce((total, s) => total + Math.exp(s - most), 0);
  const probs = scores.map((s) => Math.exp(s - most) / sum);
  const output = Array.from({ length: DV }, (_, d) =>
    probs.reduce((total, weight, n) => total + weight * row(value, b, 0, seen[n]!)[d]!, 0),
  );
  return { seen, scores, probs, output, lse: most + Math.log(sum) };
}

/** Tokens [from, to). */
function between(x: ReturnType<typeof randomTensor>, from: number, to: number) {
  const [batches, heads, , width] = x.shape as [number, number, number, number];
  const rows = Array.from({ length: batches * heads }, (_, n) =>
    Array.from({ length: to - from }, (__, s) => row(x, Math.floor(n / heads), n % heads, from + s)),
  );
  return { data: Float32Array.from(rows.flat(2)), shape: [batches, heads, to - from, width] };
}

const RETURNS = { output: true, lse: true, probs: true, scores: "raw", topK: 2 } as const;

async function attendsByPlaces(hw: Attention, ring: PlacesCase): Promise<void> {
  const { keepFirst, window, before = 0, pieces, headDim = 8, dtype = "float32" } = ring;
  const length = pieces.reduce((sum, piece) => sum + piece, before);
  const tokens: Tokens = {
    query: randomTensor(1, [B, HQ, length, headDim], 2),
    key: randomTensor(2, [B, HKV, length, headDim], 2),
    value: randomTensor(3, [B, HKV, length, DV]),
  };
  const cache = await hw.kvCache({
    batchSize: B,
    numKvHeads: HKV,
    headDim,
    valueDim: DV,
    dtype,
    rotary: { base: BASE },
    ring: { keepFirst, window, positions: "cache" },
  });
  if (before > 0) await cache.append(between(tokens.key, 0, before), between(tokens.value, 0, before));
  const near = (actual: number, expected: number, what: string) => {
    if (!(Math.abs(actual - expected) <= TOLERANCE[dtype])) expect(`${what}: ${actual}`).toBe(`${what}: ${expected}`);
  };
  let done = before;
  for (const piece of pieces) {
    const chunk = (name: keyof Tokens) => between(tokens[name], done, done + piece);
    const result = await cache.step(chunk("query"), chunk("key"), chunk("value"), { causal: true, returns: RETURNS });
    const columns = result.probs.shape[3]!;
    const total = done + piece;
    for (let n = 0; n < B * HQ * piece; ++n) {
      const [b, h, p] = [Math.floor(n / (HQ * piece)), Math.floor(n / piece) % HQ, done + (n % piece)];
      const exact = exactly(ring, tokens, b, h, p);
      near(result.lse.data[n]!, exact.lse, `lse of token ${p}`);
      exact.output.forEach((x, d) => near(result.output.data[n * DV + d]!, x, `output of token ${p}`));
      exact.seen.forEach((s, place) => {
        const column = n * columns + (s < keepFirst ? s : s - (total - columns));
        near(result.scores.data[column]!, exact.scores[place]!, `score of token ${p} with ${s}`);
        near(result.probs.data[column]!, exact.probs[place]!, `weight of token ${p} on ${s}`);
      });
      near(result.topK.values.data[2 * n]!, Math.max(...exact.probs), `largest weight of token ${p}`);
    }
    done = total;
  }
  cache.dispose();
}

const form = { batchSize: 1, numKvHeads: 1, headDim: 8, rotary: { base: BASE } } as const;
const places: KvCacheOptions = { ...form, ring: { keepFirst: 2, window: 6, positions: "cache" } };
const heads = (seed: number, length: number, count = 1) => randomTensor(seed, [1, count, length, 8]);

type Use = (hw: Attention) => Promise<void>;

export const ringPlacesUses: Readonly<Record<string, Use>> = {
  ...Object.fromEntries(CASES.map((ring): [string, Use] => [nameOf(ring), (hw) => attendsByPlaces(hw, ring)])),

  "places in a ring: positions in the text give the same bits until tokens are dropped": async (hw) => {
    const cache = await hw.kvCache(places);
    const text = await hw.kvCache({ ...form, ring: { keepFirst: 2, window: 6, positions: "text" } });
    expect(cache.ring).toEqual({ keepFirst: 2, window: 6, positions: "cache" });
    expect(text.ring).toEqual({ keepFirst: 2, window: 6, positions: "text" });
    for (let p = 0; p < 9; ++p) {
      const [a, b] = [
        await cache.step(heads(3 * p, 1), heads(3 * p + 1, 1), heads(3 * p + 2, 1)),
        await text.step(heads(3 * p, 1), heads(3 * p + 1, 1), heads(3 * p + 2, 1)),
      ];
      if (p < 8) expect(bits(a.output)).toEqual(bits(b.output));
      else expect(bits(a.output)).not.toEqual(bits(b.output));
    }
  },

  "places in a ring: forks, saved and selected caches go on alike, and rewind until tokens are dropped": async (hw) => {
    const cache = await hw.kvCache(places);
    await cache.append(heads(1, 8), heads(2, 8));
    await cache.rewind(5);
    await cache.append(heads(3, 9), heads(4, 9));
    await expect(cache.rewind(12)).rejects.toThrow("dropped");
    const bytes = await cache.save();
    const others = [await cache.fork(), await hw.kvCache({ from: bytes })];
    expect(others.map(({ ring }) => ring)).toEqual([cache.ring, cache.ring]);
    await cache.select([0]);
    const step = (held: typeof cache) => held.step(heads(5, 3, 2), heads(6, 3), heads(7, 3), { causal: true });
    const expected = await step(cache);
    for (const other of others) {
      expect(bits((await step(other)).output)).toEqual(bits(expected.output));
      expect(await other.save()).toEqual(await cache.save());
    }
    const { key } = await cache.read(1, 4); // rows on both sides of the gap
    expect(bits(key)).toEqual(bits((await others[0]!.read(1, 4)).key));
  },

  "places in a ring: attend counts places as the ring is": async (hw) => {
    const [cache, plain] = [await hw.kvCache(places), await hw.kvCache({ ...form, headDim: 8 })];
    const [key, value, query] = [heads(1, 20), heads(2, 20), heads(3, 3, 2)];
    await cache.append(key, value);
    // Tokens 0, 1 and 14 to 19 are at places 0 to 7, and the queries at 5 to 7.
    const held = [0, 1, 14, 15, 16, 17, 18, 19];
    const only = (x: typeof key) => ({
      data: Float32Array.from(held.flatMap((s) => row(x, 0, 0, s))),
      shape: [1, 1, 8, 8],
    });
    await plain.append(only(key), only(value));
    const [actual, expected] = [await cache.attend(query), await plain.attend(query)];
    expect(largestDifference(actual.output.data, expected.output.data)).toBeLessThan(2e-5);
  },

  "places in a ring: a layer over it does what the cache does": async (hw) => {
    const eye = { data: Float32Array.from({ length: 256 }, (_, n) => Number(n % 17 === 0)), shape: [16, 16] };
    const layer = await hw.multiHeadAttention({ numHeads: 2, weights: { Wq: eye, Wk: eye, Wv: eye, Wo: eye } });
    const ring = { keepFirst: 2, window: 6, positions: "cache" } as const;
    const rotary = { base: BASE };
    for (const [turning, options] of [
      [{ rotary }, {}],
      [{}, { alibiSlopes: [0.5, 0.25] }], // nothing turns: ALiBi alone counts places
    ] as const) {
      const inLayer = await layer.kvCache({ ...turning, ring });
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, ...turning, ring });
      for (const [n, length] of [5, 1, 7, 1, 20].entries()) {
        const x = randomTensor(30 + n, [1, length, 16]);
        const { output } = await layer.forward(x, { cache: inLayer, causal: true, ...options });
        const expected = await cache.step(x, x, x, { layout: "BSE", numHeads: 2, causal: true, ...options });
        expect(largestDifference(output.data, expected.output.data)).toBeLessThan(2e-5);
      }
    }
    const inLayer = await layer.kvCache({ rotary, ring });
    const x = randomTensor(40, [1, 1, 16]);
    await expect(layer.forward(x, { cache: inLayer, positions: [3] })).rejects.toThrow(
      /layer\.forward: positions must be absent with ring\.positions "cache"/,
    );
    layer.dispose();
  },

  "places in a ring: a rotary layer lets its ring turn by places, with a norm and sections or none": async (hw) => {
    const weights = Object.fromEntries(
      ["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(50 + n, [16, 16])]),
    );
    const ring = { keepFirst: 2, window: 6, positions: "cache" } as const;
    const yarn = { kind: "yarn", factor: 4, originalLength: 32 } as const;
    for (const angles of [{ base: BASE }, { base: BASE, interleaved: true, sections: [1, 2, 1] }, { scaling: yarn }]) {
      const make = (position: object | undefined) =>
        hw.multiHeadAttention({ numHeads: 2, weights, qkNorm: { kind: "rms" }, position } as never);
      const [own, plain] = [await make({ kind: "rotary", ...angles }), await make(undefined)];
      const [cache, other] = [await own.kvCache({ ring }), await plain.kvCache({ ring, rotary: angles })];
      expect(cache.ring).toEqual(ring);
      for (const [n, length] of [5, 1, 7, 1, 20].entries()) {
        const x = randomTensor(60 + n, [1, length, 16]);
        const [a, b] = [
          await own.forward(x, { cache, causal: true }),
          await plain.forward(x, { cache: other, causal: true }),
        ];
        expect(largestDifference(a.output.data, b.output.data)).toBeLessThan(2e-5);
      }
      const x = randomTensor(70, [1, 1, 16]);
      const loaded = await hw.kvCache({ from: await cache.save() });
      const [a, b] = [await own.forward(x, { cache: loaded }), await own.forward(x, { cache })];
      expect(bits(a.output)).toEqual(bits(b.output));
      await expect(own.forward(x, { cache, positions: [3] })).rejects.toThrow(/positions must be absent with ring/);
      const unturned = await plain.kvCache({ ring });
      await expect(own.forward(x, { cache: unturned })).rejects.toThrow(
        /a cache with ring\.positions "cache" must turn the keys of a layer that is rotary/,
      );
      const near = (angles.base ?? 10000) * (1 + 1e-14); // no cosine shows the difference
      for (const base of [77, near]) {
        const differs = await plain.kvCache({ ring, rotary: { ...angles, base } });
        await expect(own.forward(x, { cache: differs })).rejects.toThrow(/must have the layer's rotary options/);
      }
      for (const held of [own, plain]) held.dispose();
    }
  },

  "places in a ring: what they do not define is refused": async (hw) => {
    const refusal = (call: Promise<unknown>) => call.then(String, (error: unknown) => error);
    const made = (options: object) => refusal(hw.kvCache({ ...places, ...options }));
    const table = { data: new Float32Array(40).fill(1), shape: [10, 4] };
    const tables = await made({ rotary: { cos: table, sin: table } });
    expect(UnsupportedError.is(tables)).toBe(true);
    expect(String(tables)).toContain("tables of cos and sin");
    expect(String(await made({ ring: { window: 3, positions: "places" } }))).toContain(
      'ring.positions must be "text" or "cache", got "places"',
    );
    const cache = await hw.kvCache(places);
    await cache.append(heads(1, 10), heads(2, 10));
    const calls: [Promise<unknown>, RegExp, boolean][] = [
      [cache.append(heads(1, 1), heads(2, 1), { positions: [4] }), /cache\.append: positions must be absent/, false],
      [cache.attend(heads(3, 1), { positions: [4] }), /cache\.attend: positions must be absent/, false],
      [
        cache.attend(heads(3, 1), { patch: { query: { zero: true } } as never }),
        /patch\.query must be absent with ring\.positions "cache"/,
        true,
      ],
      [
        cache.slice(1, 4),
        /cache\.slice: a slice must not have tokens before and after row 2.*got from 1 and to 4/,
        true,
      ],
      [cache.slice(0), /got from 0 and to 8/, true],
    ];
    for (const [call, message, unsupported] of calls) {
      const error = await refusal(call);
      expect(String(error)).toMatch(message);
      expect([OptionError.is(error), UnsupportedError.is(error)]).toEqual([!unsupported, unsupported]);
    }
    expect(cache.appended).toEqual([10]);
    const window = await cache.slice(2); // the later tokens alone are a ring of their own
    expect(window.length).toBe(6);
    await cache.keep(10, []); // nothing goes
    await expect(cache.remove(3, 5)).rejects.toThrow("dropped");
  },
};
