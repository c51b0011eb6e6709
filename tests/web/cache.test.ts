import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { f16round } from "@petamoriken/float16";
import {
  createAttention,
  DisposedError,
  type HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  type Attention,
  type AttendOptions,
  type AttentionSettingsOptions,
  type KvCache,
  type KvCacheOptions,
  type Layout,
} from "headwise";

import { bits } from "./close.js";
import { variants } from "./engines.js";
import { MOST_CACHE_BATCHES } from "../../web/src/cache/cacheBatches.js";
import { keeping } from "../../web/src/cache/ownPositions.js";
import { referenceAttention, type ReferenceOptions } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "./resultProblems.js";

interface Floats {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Fixed numbers in [-1, 1). */
function floats(shape: readonly number[], seed: number): Floats {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) | 0) / 2 ** 31;
  return { data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, next), shape };
}

/** Tokens [from, to) of a tensor [B, H, S, D]. */
function tokens({ data, shape }: Floats, from: number, to: number): Floats {
  const [B, H, S, D] = shape as [number, number, number, number];
  const part = new Float32Array(B * H * (to - from) * D);
  for (let head = 0; head < B * H; ++head)
    part.set(data.subarray((head * S + from) * D, (head * S + to) * D), head * (to - from) * D);
  return { data: part, shape: [B, H, to - from, D] };
}

/** The same tensor in another layout. */
function inLayout({ data, shape }: Floats, layout: Layout): Floats {
  const [B, H, S, D] = shape as [number, number, number, number];
  const moved = new Float32Array(data.length);
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < H; ++h)
      for (let s = 0; s < S; ++s)
        for (let d = 0; d < D; ++d) {
          const at = layout === "BES" ? ((b * H + h) * D + d) * S + s : ((b * S + s) * H + h) * D + d;
          moved[at] = data[((b * H + h) * S + s) * D + d]!;
        }
  return { data: moved, shape: { BHSD: shape, BSHD: [B, S, H, D], BSE: [B, S, H * D], BES: [B, H * D, S] }[layout] };
}

/** Every row of `width` numbers, rounded as int8 storage rounds it. */
function quantised({ data, shape }: Floats): Floats {
  const width = shape.at(-1)!;
  const stored = Float32Array.from(data);
  for (let row = 0; row < data.length; row += width) {
    const scale = Math.fround(Math.max(...data.subarray(row, row + width).map(Math.abs)) / 127);
    for (let d = row; d < row + width; ++d) stored[d] = nearest(Math.fround(data[d]! / scale)) * scale;
  }
  return { data: stored, shape };
}

/** The nearest integer, ties to even. */
function nearest(x: number): number {
  const below = Math.floor(x);
  const isAbove = x - below > 0.5 || (x - below === 0.5 && below % 2 !== 0);
  return isAbove ? below + 1 : below;
}

const STORED = {
  float32: (x: Floats) => x,
  float16: ({ data, shape }: Floats) => ({ data: data.map((x) => f16round(x)), shape }),
  int8: quantised,
};

const B = 2;
const HKV = 2;
const HQ = 4;
const D = 16;
const DV = 12;
const FORM: KvCacheOptions = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV };
const TOTAL = 320;
const KEY = floats([B, HKV, TOTAL, D], 1);
const VALUE = floats([B, HKV, TOTAL, DV], 2);
const RETURNS = { lse: true, entropy: true, probs: true, topK: 3, scores: "biased" } as const;

/** The cache as one string. Two caches are the same if their strings are equal. */
async function saved(cache: KvCache): Promise<string> {
  return Buffer.from(await cache.save()).toString("base64");
}

/** The error with which a call rejects. */
async function rejection(call: () => Promise<unknown>): Promise<HeadwiseError> {
  try {
    await call();
  } catch (error) {
    return error as HeadwiseError;
  }
  throw new Error("nothing was thrown");
}

test("what an edit of the largest number of batches leaves is found in one pass", () => {
  const ones = new Int32Array(MOST_CACHE_BATCHES).fill(1);
  const edit = keeping({ from: new Int32Array(ones.length), counts: ones, rows: ones }); // of two tokens the later one
  const none = Array.from(ones, () => 0);
  const origins = edit.origins(none, { form: { ring: undefined, rotary: true }, appended: [] });
  expect(Int32Array.from(origins)).toEqual(ones);
});

describe.each(variants)("variant %s", (variant) => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", variant, threads: 2 });
  });
  afterAll(() => hw.dispose());

  /** A cache with tokens [0, to), appended in chunks. */
  async function filled(to: number, options: Partial<KvCacheOptions> = {}, chunk = to): Promise<KvCache> {
    const cache = await hw.kvCache({ ...FORM, ...options });
    for (let from = 0; from < to; from += chunk) await append(cache, from, Math.min(from + chunk, to));
    return cache;
  }

  const append = (cache: KvCache, from: number, to: number) =>
    cache.append(tokens(KEY, from, to), tokens(VALUE, from, to));

  /**
   * Where the cache's result is outside the error model of the double-precision reference, which has the tokens [0,
   * to).
   */
  async function problems(
    cache: KvCache,
    to: number,
    queries: number,
    options: Omit<AttendOptions, "location"> = {},
    reference: ReferenceOptions = {},
    stored: (x: Floats) => Floats = STORED.float32,
  ) {
    const query = floats([B, HQ, queries, D], to + queries);
    const result = await cache.attend(query, { ...options, returns: RETURNS });
    const [key, value] = [stored(tokens(KEY, 0, to)), stored(tokens(VALUE, 0, to))];
    const expected = referenceAttention(query, key, value, {
      queryOffset: to - queries,
      ...(options as ReferenceOptions),
      ...reference,
    });
    return resultProblems(result, RETURNS, expected);
  }

  describe("decoding", () => {
    test.each(["float32", "float16", "int8"] as const)(
      "a generation loop on a %s cache equals full recomputation on what is stored",
      async (dtype) => {
        const cache = await filled(120, { dtype });
        for (let step = 120; step < 140; ++step) {
          await append(cache, step, step + 1);
          expect(await problems(cache, step + 1, 1, { causal: true }, {}, STORED[dtype])).toEqual({});
        }
        cache.dispose();
      },
    );

    test("the default position of queries is that of the tokens appended last, for every rule", async () => {
      const cache = await filled(140);
      const options = { window: { left: 20 }, alibiSlopes: [0.5, 0.25, 0.125, 0.0625], excludeSelf: true };
      expect(await problems(cache, 140, 3, options)).toEqual({});
      cache.dispose();
    });

    test.each(["BSHD", "BSE", "BES"] as const)("layout %s holds and gives the same bits as BHSD", async (layout) => {
      const plain = await filled(50);
      const cache = await hw.kvCache(FORM);
      await cache.append(inLayout(tokens(KEY, 0, 50), layout), inLayout(tokens(VALUE, 0, 50), layout), { layout });
      expect(await saved(cache)).toEqual(await saved(plain));
      const query = floats([B, HQ, 3, D], 5);
      const expected = await plain.attend(query);
      const actual = await cache.attend(inLayout(query, layout), { layout, numKvHeads: HKV });
      expect(actual.output).toEqual({ ...inLayout(expected.output, layout), dtype: "float32" });
      plain.dispose();
      cache.dispose();
    });

    test("batches of different lengths are each their own", async () => {
      const cache = await hw.kvCache(FORM);
      await cache.append(tokens(KEY, 0, 150), tokens(VALUE, 0, 150), { lengths: [150, 40] });
      expect([cache.length, cache.lengths, cache.appended]).toEqual([150, [150, 40], [150, 40]]);
      const reference = { keyLengths: [150, 40], queryOffset: [148, 38] };
      expect(await problems(cache, 150, 2, { causal: "lower-right" }, reference)).toEqual({});
      cache.dispose();
    });

    describe("queries of a padded append", () => {
      const query = floats([B, HQ, 3, D], 23);
      const lengths = [3, 1];
      /** A cache with 20 tokens in every batch, and then 3 and 1 more. */
      const ragged = async (options: Partial<KvCacheOptions> = {}) => {
        const cache = await filled(20, options);
        await cache.append(tokens(KEY, 20, 23), tokens(VALUE, 20, 23), { lengths });
        return cache;
      };
      const slopes = [0.5, 0.25, 0.125, 0.0625];

      test.each<[string, AttentionSettingsOptions]>([
        ["causal", { causal: true }],
        ["a window", { window: { left: 4 } }],
        ["ALiBi", { alibiSlopes: slopes }],
        ["excludeSelf", { excludeSelf: true }],
      ])("stand at its tokens, and the rest is padding: %s", async (_, options) => {
        const cache = await ragged();
        const result = await cache.attend(query, { ...options, returns: RETURNS });
        const reference = { keyLengths: [23, 21], queryLengths: lengths, queryOffset: [20, 20] };
        const [key, value] = [tokens(KEY, 0, 23), tokens(VALUE, 0, 23)];
        const expected = referenceAttention(query, key, value, { ...(options as ReferenceOptions), ...reference });
        expect(resultProblems(result, RETURNS, expected)).toEqual({});
        cache.dispose();
      });

      test("are turned by the positions of its tokens in a rotary cache", async () => {
        const cache = await ragged({ rotary: {} });
        const stated = await cache.attend(query, { queryLengths: lengths });
        expect(bits(await cache.attend(query))).toEqual(bits(stated));
        cache.dispose();
      });

      test.each<[string, AttendOptions, AttendOptions]>([
        ["queryLengths", { causal: true, queryLengths: [2, 3] }, { queryOffset: [21, 18] }],
        ["queryOffset", { causal: true, queryOffset: 19 }, { queryLengths: [3, 3] }],
        ["another alignment", { causal: "upper-left" }, { queryLengths: [3, 3] }],
        ["no rule that asks for positions", {}, { queryLengths: [3, 3] }],
      ])("are taken as the call says: %s", async (_, options, stated) => {
        const cache = await ragged();
        expect(bits(await cache.attend(query, options))).toEqual(
          bits(await cache.attend(query, { ...options, ...stated })),
        );
        cache.dispose();
      });

      test("are as many as its rows; any other number stands at the end", async () => {
        const cache = await ragged();
        for (const rows of [1, 2, 4]) {
          const others = floats([B, HQ, rows, D], 24);
          const stated = await cache.attend(others, { causal: true, queryLengths: [rows, rows] });
          expect(bits(await cache.attend(others, { causal: true }))).toEqual(bits(stated));
        }
        cache.dispose();
      });

      test("are those of a fork as well, until it appends or is rewound", async () => {
        const cache = await ragged();
        const [fork, grown, rewound] = [await cache.fork(), await cache.fork(), await cache.fork()];
        await append(grown, 23, 26);
        await rewound.rewind([22, 21]);
        const padded = { causal: true, queryLengths: lengths } as const;
        const whole = { causal: true, queryLengths: [3, 3] } as const;
        for (const [each, options] of [
          [fork, padded],
          [cache, padded],
          [grown, whole],
          [rewound, whole],
        ] as const)
          expect(bits(await each.attend(query, { causal: true }))).toEqual(bits(await each.attend(query, options)));
        for (const each of [cache, fork, grown, rewound]) each.dispose();
      });

      test("must be stated for a slice and for a cache that was loaded", async () => {
        const cache = await ragged();
        for (const other of [await cache.slice(0), await hw.kvCache({ from: await cache.save() })]) {
          const whole = await other.attend(query, { causal: true, queryLengths: [3, 3] });
          expect(bits(await other.attend(query, { causal: true }))).toEqual(bits(whole));
          other.dispose();
        }
        cache.dispose();
      });
    });

    test("calls that are not awaited run in the order in which they were made", async () => {
      const cache = await hw.kvCache(FORM);
      const query = floats([B, HQ, 1, D], 9);
      const appended = append(cache, 0, 10);
      const first = cache.attend(query);
      const more = append(cache, 10, 30);
      const second = cache.attend(query, { returns: { probs: true } });
      expect((await second).probs.shape).toEqual([B, HQ, 1, 30]);
      await Promise.all([appended, more]);
      const alone = await filled(10);
      expect(bits(await first)).toEqual(bits(await alone.attend(query)));
      cache.dispose();
      alone.dispose();
    });

    test("rank 2 is one head of one batch", async () => {
      const cache = await hw.kvCache({ numKvHeads: 1, headDim: D });
      const x = floats([5, D], 3);
      await cache.append(x, x);
      const { output, probs } = await cache.attend(floats([2, D], 4), { returns: { probs: true } });
      expect([output.shape, probs.shape]).toEqual([
        [2, D],
        [2, 5],
      ]);
      cache.dispose();
    });

    test("an engine tensor is read and written where it is", async () => {
      const cache = await filled(20);
      const query = hw.allocate([B, HQ, 1, D]);
      query.data.set(floats([B, HQ, 1, D], 6).data);
      const into = hw.allocate([B, HQ, 1, DV]);
      const { output } = await cache.attend(query, { into });
      expect(output).toBe(into);
      expect(into.data.slice()).toEqual((await cache.attend(floats([B, HQ, 1, D], 6))).output.data);
      for (const each of [cache, query, into]) each.dispose();
    });
  });

  describe("rings", () => {
    const ring = { keepFirst: 3, window: 60 };
    const positions = (appended: number) =>
      Array.from({ length: appended }, (_, p) => p).filter((p) => p < 3 || p >= appended - 60);

    test("a ring equals a full cache with the same visibility, by absolute positions", async () => {
      const cache = await filled(200, { ring }, 7);
      expect([cache.length, cache.appended]).toEqual([63, [200, 200]]);
      const query = floats([B, HQ, 4, D], 7);
      const held = (x: Floats): Floats => {
        const parts = positions(200).map((p) => tokens(x, p, p + 1));
        const width = x.shape[3]!;
        const data = new Float32Array(B * HKV * parts.length * width);
        parts.forEach((part, j) => {
          for (let head = 0; head < B * HKV; ++head)
            data.set(part.data.subarray(head * width, (head + 1) * width), (head * parts.length + j) * width);
        });
        return { data, shape: [B, HKV, parts.length, width] };
      };
      for (const queryOffset of [196, 195, 190]) {
        const options = { causal: true, window: { left: 50 }, alibiSlopes: [0.5, 0.25, 0.125, 0.0625], queryOffset };
        const result = await cache.attend(query, { ...options, returns: RETURNS });
        const reference = { ...options, heldPositions: [positions(200), positions(200)] };
        expect(resultProblems(result, RETURNS, referenceAttention(query, held(KEY), held(VALUE), reference))).toEqual(
          {},
        );
      }
      cache.dispose();
    });

    test("its size stays fixed, and it rewinds only if no dropped token is needed", async () => {
      const cache = await filled(63, { ring });
      const { bytes } = cache;
      await cache.rewind(20);
      await append(cache, 20, 200);
      expect(cache.bytes).toBe(bytes);
      const error = await rejection(() => cache.rewind(190));
      expect([OptionError.is(error), error.message]).toEqual([
        true,
        "cache.rewind: batch 0 of a ring has dropped tokens that it would hold at length 190",
      ]);
      await cache.rewind(2);
      expect(cache.lengths).toEqual([2, 2]);
      cache.dispose();
    });
  });

  describe("rewind, fork and slice", () => {
    test("rewinding and going on equals never having gone astray", async () => {
      const [straight, rewound] = [await filled(200), await filled(150)];
      await rewound.append(floats([B, HKV, 40, D], 11), floats([B, HKV, 40, DV], 12));
      await rewound.rewind([150, 100]);
      expect(rewound.lengths).toEqual([150, 100]);
      await rewound.rewind(100);
      await append(rewound, 100, 200);
      expect(await saved(rewound)).toEqual(await saved(straight));
      straight.dispose();
      rewound.dispose();
    });

    test("a fork and its original go their own ways and outlive each other", async () => {
      const original = await filled(150);
      const before = await saved(original);
      const fork = await original.fork();
      expect(await saved(fork)).toEqual(before);
      await fork.append(floats([B, HKV, 30, D], 13), floats([B, HKV, 30, DV], 14));
      expect(await saved(original)).toEqual(before);
      expect([original.length, fork.length]).toEqual([150, 180]);
      const forked = await saved(fork);
      await original.rewind(0);
      original.dispose();
      expect(await saved(fork)).toEqual(forked);
      fork.dispose();
    });

    test("a slice holds its tokens renumbered from zero", async () => {
      const cache = await filled(200);
      const part = await cache.slice(30, 90);
      expect(part.appended).toEqual([60, 60]);
      const direct = await hw.kvCache(FORM);
      await append(direct, 30, 90);
      expect(await saved(part)).toEqual(await saved(direct));
      const rest = await cache.slice(190);
      expect(rest.length).toBe(10);
      for (const each of [cache, part, direct, rest]) each.dispose();
    });
  });

  describe("saved bytes", () => {
    test.each([
      ["float32", {}],
      ["a float16 ring", { dtype: "float16", ring: { keepFirst: 4, window: 50 } }],
      ["int8 with rotary", { dtype: "int8", rotary: { base: 5000, scaling: { kind: "linear", factor: 2 } } }],
      ["a capacity", { capacity: 400 }],
    ] as const)("come back as the same cache: %s", async (_name, options) => {
      const cache = await filled(150, options, 60);
      const bytes = await cache.save();
      const copy = await hw.kvCache({ from: bytes });
      for (const name of ["batchSize", "numKvHeads", "headDim", "valueDim", "dtype", "capacity", "ring"] as const)
        expect(copy[name]).toEqual(cache[name]);
      expect([copy.appended, copy.bytes]).toEqual([cache.appended, cache.bytes]);
      for (const each of [cache, copy]) await append(each, 150, 170);
      expect(await saved(copy)).toEqual(await saved(cache));
      const query = floats([B, HQ, 2, D], 15);
      expect(bits(await copy.attend(query))).toEqual(bits(await cache.attend(query)));
      cache.dispose();
      copy.dispose();
    });

    test("that are damaged, cut short or foreign are refused", async () => {
      const cache = await filled(3);
      const bytes = await cache.save();
      cache.dispose();
      const damaged = bytes.slice();
      damaged[bytes.length >> 1]! ^= 4;
      const future = bytes.slice();
      future[8] = 9;
      for (const [bad, words] of [
        [damaged, "damaged"],
        [bytes.slice(0, -1), "damaged or truncated"],
        [bytes.slice(0, 100), "truncated"],
        [new Uint8Array(0), "not a saved cache"],
        [new Uint8Array(1000), "not a saved cache"],
        [future, "version 9"],
      ] as const) {
        const error = await rejection(() => hw.kvCache({ from: bad }));
        expect([error.code, OptionError.is(error)]).toEqual(["CORRUPT_DATA", true]);
        expect(error.message).toContain(words);
      }
      const error = await rejection(() => hw.kvCache({ from: bytes.buffer as unknown as Uint8Array }));
      expect(error.message).toBe("kvCache: from must be a Uint8Array, got an ArrayBuffer");
    });
  });

  test("rotary turns keys and queries by absolute positions, as rotaryEmbedding does", async () => {
    const rotary = { rotaryDim: 8, interleaved: true, base: 500 };
    const [cache, byHand] = [await filled(60, { rotary }, 25), await hw.kvCache(FORM)];
    await byHand.append(await hw.rotaryEmbedding(tokens(KEY, 0, 60), rotary), tokens(VALUE, 0, 60));
    const query = floats([B, HQ, 3, D], 16);
    const turned = await hw.rotaryEmbedding(query, { ...rotary, positions: 57 });
    expect(bits(await cache.attend(query, { causal: true }))).toEqual(
      bits(await byHand.attend(turned, { causal: true })),
    );
    cache.dispose();
    byHand.dispose();
  });

  describe("bad input", () => {
    const make = (options: object) => () => hw.kvCache({ ...FORM, ...options });
    test.each<[string, () => Promise<unknown>, typeof ShapeError | typeof OptionError, string]>([
      ["no options", () => hw.kvCache(undefined as never), OptionError, "numKvHeads must be given"],
      ["an unknown option", make({ keepFirst: 3 }), OptionError, 'unknown option "keepFirst"'],
      ["no heads", make({ numKvHeads: 0 }), OptionError, "numKvHeads must be an integer"],
      ["a wrong dtype", make({ dtype: "int4" }), OptionError, "dtype must be"],
      ["a ring without window", make({ ring: { keepFirst: 3 } }), OptionError, "ring.window must be given"],
      ["too small a capacity", make({ capacity: 9, ring: { window: 10 } }), OptionError, "capacity must be at least"],
      ["an odd rotaryDim", make({ rotary: { rotaryDim: 3 } }), OptionError, "rotary.rotaryDim must be even"],
      [
        "an odd headDim",
        make({ headDim: 5, rotary: {} }),
        OptionError,
        "rotary.rotaryDim must be given: an even number of features that turn, because headDim is odd: 5",
      ],
      [
        "dynamic-ntk without a length",
        make({ rotary: { scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 64 } } }),
        OptionError,
        "rotary.scaling.sequenceLength must be given",
      ],
    ])("%s makes no cache", async (_name, call, type, words) => {
      const error = await rejection(call);
      expect([type.is(error), error.message]).toEqual([true, expect.stringContaining(`kvCache: `)]);
      expect(error.message).toContain(words);
    });

    const [k, v] = [tokens(KEY, 0, 2), tokens(VALUE, 0, 2)];
    const q = floats([B, HQ, 1, D], 17);
    test.each<[string, (cache: KvCache) => Promise<unknown>, typeof ShapeError | typeof OptionError, string]>([
      ["key of other heads", (c) => c.append(floats([B, 3, 2, D], 1), v), ShapeError, "numKvHeads"],
      ["key of another batch", (c) => c.append(floats([1, HKV, 2, D], 1), v), ShapeError, "key.shape[0] (batchSize)"],
      ["key of another width", (c) => c.append(v, v), ShapeError, "key.shape[3] (headDim) must equal the cache's"],
      ["value of another width", (c) => c.append(k, k), ShapeError, "the cache's valueDim, got 16 and 12"],
      ["value of another length", (c) => c.append(k, tokens(VALUE, 0, 3)), ShapeError, "value.shape[2] (length)"],
      ["no value", (c) => c.append(k, undefined as never), OptionError, "value must be a tensor"],
      ["another numKvHeads", (c) => c.append(k, v, { numKvHeads: 4 }), OptionError, "be that of the cache, 2, got 4"],
      ["too few lengths", (c) => c.append(k, v, { lengths: [1] }), ShapeError, "lengths must have length 2"],
      ["a length too long", (c) => c.append(k, v, { lengths: [1, 3] }), OptionError, "lengths[1] must be"],
      ["an unknown option", (c) => c.append(k, v, { length: 1 } as never), OptionError, 'did you mean "lengths"'],
      ["more than the capacity", (c) => append(c, 20, 60), ShapeError, "at most 50 tokens"],
      ["query of other heads", (c) => c.attend(floats([B, 3, 1, D], 1)), ShapeError, "the cache's numKvHeads must divide query.shape[1]"], // oxfmt-ignore
      ["query of another width", (c) => c.attend(floats([B, HQ, 1, DV], 1)), ShapeError, "query.shape[3] (headDim)"],
      ["keyLengths too long", (c) => c.attend(q, { keyLengths: [20, 21] }), OptionError, "keyLengths[1] must be"],
      ["a mask that does not fit", (c) => c.attend(q, { mask: ones(21) }), ShapeError, "mask.shape must broadcast"],
      ["a ragged batch", (c) => c.attend(q, { cuSeqLensQuery: [0, 1] } as never), OptionError, "unknown option"],
      ["rewinding ahead", (c) => c.rewind(21), OptionError, "length must be an integer from 0 to 20, got 21"],
      ["rewinding one batch ahead", (c) => c.rewind([5, 21]), OptionError, "length[1] must be at most"],
      ["rewinding to a text", (c) => c.rewind("1" as never), OptionError, 'length must be an integer or a list of integers, got "1"'], // oxfmt-ignore
      ["rewinding to nowhere", (c) => c.rewind(undefined as never), OptionError, "length must be given"],
      ["a slice past the end", (c) => c.slice(3, 21), OptionError, "to must be an integer from 3 to 20"],
      ["a slice that ends before it begins", (c) => c.slice(3, 2), OptionError, "to must be"],
    ])("%s is refused, and the cache stays as it was", async (_name, call, type, words) => {
      const cache = await filled(20, { capacity: 50 });
      const before = await saved(cache);
      const error = await rejection(() => call(cache));
      expect([type.is(error), error.message]).toEqual([true, expect.stringMatching(/^cache\.\w+: /)]);
      expect(error.message).toContain(words);
      expect(await saved(cache)).toEqual(before);
      cache.dispose();
    });

    test("an append aborted while it waits is not made", async () => {
      const cache = await filled(5);
      const [ahead, abort] = [append(cache, 5, 10), new AbortController()];
      const waiting = cache.append(k, v, { signal: abort.signal });
      abort.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
      await ahead;
      expect(cache.length).toBe(10);
      cache.dispose();
    });
  });

  describe("lifetime", () => {
    test("a disposed cache refuses every call, and disposing twice is harmless", async () => {
      const cache = await filled(5);
      const last = cache.attend(floats([B, HQ, 1, D], 18)); // made before the disposal, so it still runs
      cache.dispose();
      cache.dispose();
      expect((await last).output.shape).toEqual([B, HQ, 1, DV]);
      for (const call of [() => cache.fork(), () => cache.save(), () => append(cache, 0, 1), () => cache.rewind(0)])
        expect(DisposedError.is(await rejection(call))).toBe(true);
    });

    test("a disposed cache frees its memory, and a cache that gets no memory stays as it was", async () => {
      const small = await createAttention({ backend: "wasm", variant, threads: 1, maximumMemory: 32 * 2 ** 20 });
      const [key, value] = [floats([1, 1, 2000, 512], 19), floats([1, 1, 2000, 512], 20)]; // 8 MB in a cache
      for (let n = 0; n < 20; ++n) {
        using cache = await small.kvCache({ numKvHeads: 1, headDim: 512 });
        await cache.append(key, value);
        using fork = await cache.fork();
        expect(fork.bytes).toBe(cache.bytes);
        expect((await cache.read(1500, 2000)).key.data.length).toBe(500 * 512); // reads them from a copy
      }
      const cache = await small.kvCache({ numKvHeads: 1, headDim: 512 });
      const query = floats([1, 1, 1, 512], 21);
      let [length, outcome] = [0, await cache.attend(query)];
      const error = await rejection(async () => {
        for (; length < 100_000; length += 2000) {
          outcome = await cache.attend(query);
          await cache.append(key, value);
        }
      });
      expect(OutOfMemoryError.is(error)).toBe(true);
      expect(length).toBeGreaterThanOrEqual(2000);
      expect(cache.length).toBe(length);
      expect(bits(await cache.attend(query))).toEqual(bits(outcome));
      small.dispose();
      cache.dispose(); // after its instance was disposed, so there is nothing left to do
      expect(DisposedError.is(await rejection(() => cache.attend(query)))).toBe(true);
    });
  });
});

function ones(length: number): { data: Uint8Array; shape: number[] } {
  return { data: new Uint8Array(length).fill(1), shape: [length] };
}
