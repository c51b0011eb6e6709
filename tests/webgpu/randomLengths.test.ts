// Random calls in groups that share their shader texts, because a software adapter takes seconds to compile one: lengths,
// offsets, windows and extents beside the edges of tiles; forward and backward, int8 caches, formulas. Everything is
// compared with the double reference.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Attention, AttentionOptions } from "headwise";
import { formula } from "headwise/formula";

import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { referenceBackward } from "../attention-conformance/reference/referenceBackward.js";
import { differences } from "../web/close.js";
import { withAnchor } from "../web/randomCalls.js";
import { randomTensor } from "../web/randomTensor.js";
import { resultProblems } from "../web/resultProblems.js";
import { countOf } from "../web/depth.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";
import { gradientProblems } from "./gradientProblems.js";

const RUNS = countOf(12, 150);

type Options = Omit<AttentionOptions, "returns" | "location">;

/** What all calls of a group have, so that they share their kernels. */
interface Group {
  readonly D: number;
  readonly Dv: number;
  /** The largest numbers of rows and keys. */
  readonly rows: number;
  readonly keys: number;
  /** Tiles of rows and keys: extents lie beside their edges. */
  readonly tile: number;
  readonly more?: (call: Drawn) => Options;
  readonly hasGradient?: boolean;
  /** Without probs, which have a kernel of their own. */
  readonly isWithoutProbs?: boolean;
}

interface Drawn {
  readonly seed: number;
  readonly B: number;
  readonly Hkv: number;
  readonly group: number;
  readonly Sq: number;
  readonly Skv: number;
}

const doc = Array.from({ length: 300 }, (_, n) => Math.floor(n / 7));
const GROUPS: Readonly<Record<string, Group>> = {
  "whole heads of 64": { D: 64, Dv: 64, rows: 140, keys: 140, tile: 32, hasGradient: true },
  "any heads, with every option": {
    D: 12,
    Dv: 20,
    rows: 80,
    keys: 80,
    tile: 32,
    hasGradient: true,
    more: ({ seed, B, Hkv, group, Sq, Skv }) => ({
      mask: maskOf(seed, [B, 1, Sq, Skv]),
      bias: randomTensor(seed + 9, [1, Hkv * group, Sq, Skv]),
      softcap: 3,
      sinks: Array.from({ length: Hkv * group }, (_, h) => h - 1),
      headGain: Array.from({ length: Hkv * group }, (_, h) => 1 + h / 4),
      alibiSlopes: Array.from({ length: Hkv * group }, (_, h) => 2 ** -(h + 1)),
    }),
  },
  decoding: { D: 64, Dv: 64, rows: 4, keys: 200, tile: 32 },
  formulas: {
    D: 8,
    Dv: 8,
    rows: 60,
    keys: 80,
    tile: 32,
    hasGradient: true,
    isWithoutProbs: true,
    more: () => ({
      score: formula("s - 0.1 * abs(q - k)"),
      visible: formula("doc[i] == doc[j] || k <= q - 3", { doc }),
    }),
  },
};

function maskOf(seed: number, shape: readonly number[]) {
  const { data } = randomTensor(seed + 5, shape);
  return { data: Uint8Array.from(data, (x) => Number(x > -0.6)), shape: [...shape] };
}

/** From 1 to `most`, often beside a multiple of the tile. */
const extent = (most: number, tile: number) =>
  fc.oneof(
    fc.integer({ min: 1, max: most }),
    fc
      .tuple(fc.integer({ min: 1, max: Math.ceil(most / tile) }), fc.integer({ min: -1, max: 1 }))
      .map(([tiles, beside]) => Math.min(most, Math.max(1, tiles * tile + beside))),
  );

const drawn = ({ rows, keys, tile }: Group): fc.Arbitrary<Drawn> =>
  fc.record({
    seed: fc.nat(10_000),
    B: fc.integer({ min: 1, max: 3 }),
    Hkv: fc.integer({ min: 1, max: 2 }),
    group: fc.integer({ min: 1, max: rows <= 8 ? 2 : 3 }),
    Sq: extent(rows, tile),
    Skv: extent(keys, tile),
  });

/** Rules by lengths and positions. */
const rulesOf = ({ B, Sq, Skv }: Drawn): fc.Arbitrary<Options> => {
  const perBatch = (least: number, most: number) =>
    fc.array(fc.integer({ min: least, max: most }), { minLength: B, maxLength: B });
  const side = fc.option(fc.integer({ min: 0, max: Skv + 1 }), { nil: undefined });
  return fc.record(
    {
      keyLengths: perBatch(0, Skv),
      queryLengths: perBatch(0, Sq),
      queryOffset: perBatch(-Skv - 2, Skv + 2),
      causal: fc.constantFrom(true, "upper-left" as const, "lower-right" as const),
      window: fc.record({ left: side, right: side }),
      emptyRows: fc.constantFrom("zero" as const, "nan" as const),
    },
    { requiredKeys: [] },
  );
};

describeOnGpu("Random calls on WebGPU", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
  });
  afterAll(() => hw.dispose());

  test.each(Object.entries(GROUPS))(`${RUNS} of %s agree with the double reference`, async (_, group) => {
    const calls = drawn(group).chain((call) => rulesOf(call).map((rules) => ({ call, rules: withAnchor(rules) })));
    await fc.assert(
      fc.asyncProperty(calls, async ({ call, rules }) => {
        const { seed, B, Hkv, group: heads, Sq, Skv } = call;
        const query = randomTensor(seed, [B, Hkv * heads, Sq, group.D], 2);
        const key = randomTensor(seed + 1, [B, Hkv, Skv, group.D], 2);
        const value = randomTensor(seed + 2, [B, Hkv, Skv, group.Dv]);
        const options = { ...rules, ...group.more?.(call) };
        const returns = { output: true, lse: true, probs: !group.isWithoutProbs, entropy: true } as const;
        const found = await hw.scaledDotProductAttention(query, key, value, { ...options, returns });
        expect(resultProblems(found, returns, referenceAttention(query, key, value, options))).toEqual({});
        if (!group.hasGradient) return;
        const dOutput = randomTensor(seed + 3, [B, Hkv * heads, Sq, group.Dv]);
        const { output, lse } = found;
        const wanted = { dQuery: true, dKey: true, dValue: true, ...(options.bias && { dBias: true }), ...(options.sinks && { dSinks: true, dHeadGain: true }) }; // oxfmt-ignore
        const given = { query, key, value, output, lse, dOutput, ...options, returns: wanted };
        const gradients = await hw.attentionBackward(given);
        expect(gradientProblems(gradients, wanted, referenceBackward(query, key, value, dOutput, options))).toEqual({});
      }),
      { numRuns: RUNS },
    );
  });

  const cacheCall = fc.record({
    seed: fc.nat(10_000),
    B: fc.integer({ min: 1, max: 3 }),
    Hkv: fc.integer({ min: 1, max: 3 }),
    capacity: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
    ring: fc.option(fc.record({ keepFirst: fc.integer({ min: 0, max: 3 }), window: fc.integer({ min: 1, max: 37 }) }), {
      nil: undefined,
    }),
    tokens: fc.integer({ min: 1, max: 60 }),
    way: fc.constantFrom("as it is" as const, "loaded" as const, "sliced" as const),
  });

  test.each([16, 64, 20])(`${RUNS} int8 caches of odd places, heads of %i, attend as their own content says`, async (D) => {
    await fc.assert(
      fc.asyncProperty(cacheCall, async ({ seed, B, Hkv, capacity, ring, tokens, way }) => {
        const places = ring ? { ring } : capacity !== undefined ? { capacity } : {};
        const made = await hw.kvCache({ batchSize: B, numKvHeads: Hkv, headDim: D, dtype: "int8", ...places });
        const fitting = capacity !== undefined && !ring ? Math.min(tokens, capacity) : tokens;
        await made.append(randomTensor(seed, [B, Hkv, fitting, D]), randomTensor(seed + 1, [B, Hkv, fitting, D]));
        const cache = way === "loaded" ? await hw.kvCache({ from: await made.save() }) : way === "sliced" && !ring ? await made.slice(0, fitting) : made; // oxfmt-ignore
        const { key, value } = await cache.read();
        const query = randomTensor(seed + 2, [B, Hkv, 1, D]);
        const { output } = await cache.attend(query);
        expect(differences(output, referenceAttention(query, key, value, {}).output)).toEqual([]);
        for (const each of new Set([made, cache])) each.dispose();
      }),
      { numRuns: RUNS },
    );
  }); // oxfmt-ignore
});
