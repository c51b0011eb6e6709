// ALiBi whose distances are those of positions of the caller's own. Every engine runs these tests.

import { expect, test } from "@jest/globals";
import type { AppendOptions, Attention, KvCache, KvCacheOptions } from "headwise";
import { formula } from "headwise/formula";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const [B, HQ, HKV, D] = [2, 4, 2, 8];
const SLOPES = [0.25, 0.125, -0.0625, 0.5];

type Rows = ReturnType<typeof randomTensor>;

const heads = (seed: number, count: number, length: number, batchSize = B) =>
  randomTensor(seed, [batchSize, count, length, D]);

/** Whole numbers that repeat, jump and go below 0, `[B, length]`. */
const places = (seed: number, length: number, batchSize = B) => ({
  data: Int32Array.from({ length: batchSize * length }, (_, n) => ((n * 7919 + seed * 31) % 23) - 5),
  shape: [batchSize, length],
});

function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance = 2e-5): void {
  expect(actual).toHaveLength(expected.length);
  for (let n = 0; n < actual.length; ++n)
    if (!(actual[n] === expected[n] || Math.abs(actual[n]! - expected[n]!) <= tolerance))
      expect(`number ${n}: ${actual[n]}`).toBe(`number ${n}: ${expected[n]}`);
}

/** The same as a formula of the rows. */
const asFormula = (queries: ReturnType<typeof places>, keys: ReturnType<typeof places>, slope = SLOPES) =>
  formula("s - slope[h] * abs(of[b][i] - at[b][j])", {
    slope,
    of: { data: Float32Array.from(queries.data), shape: queries.shape },
    at: { data: Float32Array.from(keys.data), shape: keys.shape },
  });

/** A token that a test appends: its row in the tensors of keys and values, and where it stands. */
interface Token {
  readonly row: number;
  readonly at: number;
}

/** Tokens of batches of equal lengths, as a call without a cache takes them. */
function gathered(x: Rows, tokens: readonly (readonly Token[])[]): Rows {
  const [, count, length] = x.shape as [number, number, number];
  const most = Math.max(...tokens.map((list) => list.length));
  const data = tokens.flatMap((list, b) =>
    Array.from({ length: count }, (_, h) =>
      Array.from({ length: most }, (__, n) => {
        const at = ((b * count + h) * length + (list[n]?.row ?? 0)) * D;
        return [...x.data.subarray(at, at + D)];
      }),
    ),
  );
  return { ...x, data: Float32Array.from(data.flat(2)), shape: [tokens.length, count, most, D] };
}

const atOf = (tokens: readonly (readonly Token[])[]) => {
  const most = Math.max(...tokens.map((list) => list.length));
  const data = tokens.flatMap((list) => Array.from({ length: most }, (_, n) => list[n]?.at ?? 0));
  return { data: Int32Array.from(data), shape: [tokens.length, most] };
};

const from = (x: Rows, start: number, end: number) =>
  gathered(
    x,
    Array.from({ length: x.shape[0]! }, () => span(start, end).map((row) => ({ row, at: 0 }))),
  );

const span = (start: number, end: number) => Array.from({ length: end - start }, (_, n) => start + n);

export function alibiPositionsTests(instance: () => Attention): void {
  const keys = [heads(1, HKV, 40), heads(2, HKV, 40)] as const;

  /** Whether the cache attends as a call whose keys are these tokens. */
  async function expectHolds(cache: KvCache, tokens: readonly (readonly Token[])[], numQueries = 2): Promise<void> {
    const query = heads(3, HQ, numQueries);
    const positions = places(4, numQueries);
    const { output } = await cache.attend(query, { positions, alibiSlopes: SLOPES });
    const expected = await instance().scaledDotProductAttention(
      query,
      gathered(keys[0], tokens),
      gathered(keys[1], tokens),
      {
        keyLengths: tokens.map((list) => list.length),
        alibiSlopes: SLOPES,
        positions,
        keyPositions: atOf(tokens),
      },
    );
    expectClose(output.data, expected.output.data);
  }

  test("ALiBi: positions that are the indices change no bit, in any form", async () => {
    const hw = instance();
    const [query, key, value] = [heads(5, HQ, 9), heads(6, HKV, 150), heads(7, HKV, 150)];
    const options = {
      alibiSlopes: SLOPES,
      causal: true,
      returns: { output: true, lse: true, scores: "biased" },
    } as const;
    const expected = await hw.scaledDotProductAttention(query, key, value, options);
    const indices = span(0, 150);
    for (const keyPositions of [indices, Int32Array.from(indices), BigInt64Array.from(indices, BigInt)]) {
      const given = { ...options, positions: span(141, 150), keyPositions };
      const actual = await hw.scaledDotProductAttention(query, key, value, given);
      for (const name of ["output", "lse", "scores"] as const) expect(bits(actual[name])).toEqual(bits(expected[name]));
    }
  });

  test.each([
    [1, 40],
    [3, 700],
    [33, 70],
    [130, 65],
  ])(
    "ALiBi by positions is the formula of the rows: %s queries, %s keys, all results and gradients",
    async (sq, skv) => {
      const hw = instance();
      const [query, key, value] = [heads(5, HQ, sq), heads(6, HKV, skv), heads(7, HKV, skv)];
      const [positions, keyPositions] = [places(1, sq), places(2, skv)];
      const returns = { output: true, lse: true, entropy: true, probs: true, topK: 2 } as const;
      const common = { causal: true, softcap: 3, returns } as const;
      const given = { alibiSlopes: SLOPES, positions, keyPositions };
      const score = asFormula(positions, keyPositions);
      const actual = await hw.scaledDotProductAttention(query, key, value, { ...common, ...given });
      const expected = await hw.scaledDotProductAttention(query, key, value, { ...common, score });
      for (const name of ["output", "lse", "entropy", "probs"] as const)
        expectClose(actual[name].data, expected[name].data, 5e-5);
      expectClose(actual.topK.values.data, expected.topK.values.data);
      const biased = { ...common, ...given, returns: { scores: "biased" } } as const;
      const { scores } = await hw.scaledDotProductAttention(query, key, value, biased);
      const formulas = { ...common, score, returns: { scores: "formula" } } as const;
      expectClose(scores.data, (await hw.scaledDotProductAttention(query, key, value, formulas)).scores.data, 5e-5);

      const dOutput = heads(8, HQ, sq);
      const inputs = { query, key, value, dOutput, causal: true, softcap: 3 } as const;
      const wanted = { dQuery: true, dKey: true, dValue: true } as const;
      const a = await hw.attentionBackward({
        ...inputs,
        ...given,
        output: actual.output,
        lse: actual.lse,
        returns: { ...wanted, dAlibiSlopes: true },
      });
      const b = await hw.attentionBackward({
        ...inputs,
        score,
        output: expected.output,
        lse: expected.lse,
        returns: { ...wanted, dTables: true },
      });
      for (const name of ["dQuery", "dKey", "dValue"] as const) expectClose(a[name].data, b[name].data, 2e-4);
      expectClose(a.dAlibiSlopes.data, b.dTables["slope"]!.data, 1e-2);
    },
  );

  test("ALiBi by positions in a ragged batch: each sequence is that of a call by itself", async () => {
    const hw = instance();
    const ragged = (seed: number, count: number, length: number) => randomTensor(seed, [1, length, count, D]);
    const [query, key, value] = [ragged(10, HQ, 12), ragged(11, HKV, 20), ragged(12, HKV, 20)];
    const [queries, keyStarts] = [
      [0, 5, 5, 12],
      [0, 9, 11, 20],
    ];
    const [positions, keyPositions] = [places(3, 12, 1).data, places(4, 20, 1).data];
    const layout = "BSHD" as const;
    const { output } = await hw.scaledDotProductAttention(query, key, value, {
      layout,
      cuSeqLensQuery: queries,
      cuSeqLensKey: keyStarts,
      alibiSlopes: SLOPES,
      positions,
      keyPositions,
    });
    const part = (x: Rows, start: number, end: number, count: number) => ({
      data: x.data.subarray(start * count * D, end * count * D),
      shape: [1, end - start, count, D],
    });
    for (const n of [0, 2]) {
      const [q0, q1, k0, k1] = [queries[n]!, queries[n + 1]!, keyStarts[n]!, keyStarts[n + 1]!];
      const alone = await hw.scaledDotProductAttention(
        part(query, q0, q1, HQ),
        part(key, k0, k1, HKV),
        part(value, k0, k1, HKV),
        {
          layout,
          alibiSlopes: SLOPES,
          positions: positions.slice(q0, q1),
          keyPositions: keyPositions.slice(k0, k1),
        },
      );
      expectClose(output.data.subarray(q0 * HQ * D, q1 * HQ * D), alone.output.data);
    }
  });

  test("ALiBi of a layer: packed documents and their gradients are those of each document by itself", async () => {
    const E = HQ * D;
    const weights = Object.fromEntries(
      ["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [E, E])]),
    ) as Record<"Wq" | "Wk" | "Wv" | "Wo", Rows>;
    const [x, dOutput] = [randomTensor(6, [1, 7, E]), randomTensor(7, [1, 7, E])];
    const mask = { data: Uint8Array.from({ length: 49 }, (_, n) => Number(n / 7 >= 3 === n % 7 >= 3)), shape: [7, 7] };
    const rows = (of: Rows | { data: Float32Array }, start: number, end: number) => ({
      data: of.data.slice(start * E, end * E),
      shape: [1, end - start, E],
    });
    for (const position of [undefined, { kind: "rotary", base: 50 } as const]) {
      const layer = await instance().multiHeadAttention({ numHeads: HQ, weights, position });
      const positions = [0, 1, 2, 0, 1, 2, 3];
      const given = { alibiSlopes: SLOPES, save: true } as const;
      const packed = await layer.forward(x, { ...given, mask, positions });
      const returns = { dInput: true, dAlibiSlopes: true } as const;
      const gradients = await layer.backward(packed.saved, dOutput, { returns });
      const slopes = new Float32Array(HQ);
      for (const [start, end] of [
        [0, 3],
        [3, 7],
      ] as const) {
        const alone = await layer.forward(rows(x, start, end), given);
        expectClose(rows(packed.output, start, end).data, alone.output.data);
        const own = await layer.backward(alone.saved, rows(dOutput, start, end), { returns });
        expectClose(rows(gradients.dInput, start, end).data, own.dInput.data, 1e-4);
        own.dAlibiSlopes.data.forEach((d, h) => (slopes[h]! += d));
      }
      expectClose(gradients.dAlibiSlopes.data, slopes, 1e-3);

      // with a context: its tokens stand at keyPositions
      const context = rows(x, 3, 7);
      const crossed = await layer.forward(rows(x, 0, 3), {
        key: context,
        alibiSlopes: SLOPES,
        positions: [4, 5, 6],
        keyPositions: [0, 1, 2, 3],
      });
      const joined = { data: Float32Array.of(...context.data, ...rows(x, 0, 3).data), shape: [1, 7, E] };
      const hidden = { data: Uint8Array.of(1, 1, 1, 1, 0, 0, 0), shape: [1, 7] };
      const self = await layer.forward(joined, { alibiSlopes: SLOPES, mask: hidden });
      expectClose(crossed.output.data, rows(self.output, 4, 7).data);
      // in a cache, in pieces: the second document goes on where it was
      const cache = await layer.kvCache({});
      await layer.forward(rows(x, 0, 5), {
        cache,
        mask: maskOf(mask, 0, 5, 5),
        positions: positions.slice(0, 5),
        alibiSlopes: SLOPES,
      });
      const rest = await layer.forward(rows(x, 5, 7), {
        cache,
        mask: maskOf(mask, 5, 7, 7),
        positions: positions.slice(5),
        alibiSlopes: SLOPES,
      });
      expectClose(rest.output.data, rows(packed.output, 5, 7).data);
      for (const held of [cache, layer]) held.dispose();
    }
  });

  const maskOf = (mask: { readonly data: Uint8Array }, start: number, end: number, columns: number) => ({
    data: Uint8Array.from(
      { length: (end - start) * columns },
      (_, n) => mask.data[(start + Math.floor(n / columns)) * 7 + (n % columns)]!,
    ),
    shape: [end - start, columns],
  });

  const form: KvCacheOptions = { batchSize: B, numKvHeads: HKV, headDim: D };

  test.each([
    ["a cache", {}],
    ["a cache of a capacity", { capacity: 60 }],
  ] as const)("ALiBi: %s keeps where its tokens stand through every operation", async (_, options) => {
    const hw = instance();
    const cache = await hw.kvCache({ ...form, ...options });
    const at = places(9, 6);
    const append = (held: KvCache, start: number, end: number, more: object = {}) =>
      held.append(from(keys[0], start, end), from(keys[1], start, end), more);
    let tokens: Token[][] = span(0, B).map((b) => span(0, 6).map((row) => ({ row, at: at.data[b * 6 + row]! })));
    await append(cache, 0, 6, { positions: at });
    await expectHolds(cache, tokens);
    // tokens without positions stand at their indices; batch 1 gains fewer
    await append(cache, 6, 9, { lengths: [3, 1] });
    tokens = tokens.map((list, b) => [...list, ...span(6, b === 0 ? 9 : 7).map((row) => ({ row, at: row }))]);
    await expectHolds(cache, tokens);
    const [bytes, fork] = [await cache.save(), await cache.fork()];
    const loaded = await hw.kvCache({ from: bytes });
    expect(await loaded.save()).toEqual(bytes);
    for (const other of [fork, loaded]) await expectHolds(other, tokens);
    const slice = await cache.slice(2, 5);
    await expectHolds(
      slice,
      tokens.map((list) => list.slice(2, 5)),
    );
    await append(slice, 20, 21);
    await expectHolds(
      slice,
      tokens.map((list) => [...list.slice(2, 5), { row: 20, at: 5 }]),
    );
    await fork.rewind([7, 4]);
    await expectHolds(fork, [tokens[0]!.slice(0, 7), tokens[1]!.slice(0, 4)]);
    await loaded.select([1, 1]);
    const query = heads(3, HQ, 1);
    const both = await loaded.attend(query, { alibiSlopes: SLOPES, positions: [3] });
    const whole = await cache.attend(query, { alibiSlopes: SLOPES, positions: [3] });
    const half = whole.output.data.length / 2;
    // equal keys, other queries: compare batch 1 alone
    expectClose(both.output.data.subarray(half), whole.output.data.subarray(half));
    await cache.remove(1, 3);
    tokens = tokens.map((list) => [...list.slice(0, 1), ...list.slice(3)]);
    await expectHolds(cache, tokens);
    await cache.keep(
      [2, 0],
      [
        [0, 3],
        [1, 2, 4],
      ],
    );
    tokens = [[...tokens[0]!.slice(0, 2), tokens[0]![2]!, tokens[0]![5]!], [1, 2, 4].map((n) => tokens[1]![n]!)];
    await expectHolds(cache, tokens);
    // a step tells where its tokens and queries stand
    const stepped = await cache.step(heads(21, HQ, 2), from(keys[0], 30, 32), from(keys[1], 30, 32), {
      positions: [8, -2],
      alibiSlopes: SLOPES,
    });
    tokens = tokens.map((list) => [...list, { row: 30, at: 8 }, { row: 31, at: -2 }]);
    const expected = await hw.scaledDotProductAttention(
      heads(21, HQ, 2),
      gathered(keys[0], tokens),
      gathered(keys[1], tokens),
      {
        keyLengths: tokens.map((list) => list.length),
        alibiSlopes: SLOPES,
        positions: [8, -2],
        keyPositions: atOf(tokens),
      },
    );
    expectClose(stepped.output.data, expected.output.data);
    await expectHolds(cache, tokens);
    await cache.rewind(0);
    await append(cache, 0, 4);
    expect(await cache.save()).toEqual(await fresh(hw, options, (held) => append(held, 0, 4)));
    for (const held of [cache, fork, loaded, slice]) held.dispose();
  });

  async function fresh(hw: Attention, options: object, fill: (cache: KvCache) => Promise<void>): Promise<Uint8Array> {
    const cache = await hw.kvCache({ ...form, ...options });
    await fill(cache);
    const bytes = await cache.save();
    cache.dispose();
    return bytes;
  }

  test("ALiBi: an append of no tokens gives no positions, so later edits move tokens", async () => {
    const hw = instance();
    const cache = await hw.kvCache(form);
    await cache.append(from(keys[0], 0, 4), from(keys[1], 0, 4));
    await cache.append(from(keys[0], 0, 0), from(keys[1], 0, 0), { positions: [] });
    await cache.append(from(keys[0], 0, 2), from(keys[1], 0, 2), { positions: [7, 9], lengths: [0, 0] });
    await cache.remove(1, 2);
    await expectHolds(
      cache,
      span(0, B).map(() => [0, 2, 3].map((row, n) => ({ row, at: n }))),
    );
    cache.dispose();
  });

  test.each<readonly [string, (cache: KvCache, hw: Attention) => Promise<KvCache | void>]>([
    ["remove(0, 2)", (cache) => cache.remove(0, 2)],
    ["keep(0, …)", (cache) => cache.keep(0, [2, 3, 4, 5])],
    ["slice(2)", (cache) => cache.slice(2)],
    ["remove, and in its fork", async (cache) => (await cache.remove(0, 2), cache.fork())],
    ["remove, and after select", async (cache) => (await cache.remove(0, 2), cache.select([1, 0]))],
    ["remove, and saved", async (cache, hw) => (await cache.remove(0, 2), hw.kvCache({ from: await cache.save() }))],
  ])(
    "ALiBi in a rotary cache after %s stands where the angles do, beside positions that are given",
    async (_, edit) => {
      const hw = instance();
      const first = await hw.kvCache({ ...form, rotary: {} });
      await first.append(from(keys[0], 0, 6), from(keys[1], 0, 6));
      const cache = (await edit(first, hw)) ?? first;
      const distances = async (positions: number[] | undefined) => {
        const returns = { scores: "biased" } as const;
        const zeros = { data: new Float32Array(B * HQ * D), shape: [B, HQ, 1, D] };
        const { scores } = await cache.attend(zeros, { alibiSlopes: SLOPES.map(() => 1), positions, returns });
        const { length } = cache;
        return span(0, B).map((b) =>
          Array.from(scores.data.subarray(b * HQ * length, b * HQ * length + length), (s) => 0 - s),
        );
      };
      for (const positions of [undefined, [5]])
        expect(await distances(positions)).toEqual(span(0, B).map(() => [3, 2, 1, 0]));
      await cache.append(from(keys[0], 6, 7), from(keys[1], 6, 7), { positions: [6] });
      for (const positions of [undefined, [6]])
        expect(await distances(positions)).toEqual(span(0, B).map(() => [4, 3, 2, 1, 0]));
      for (const held of new Set([first, cache])) held.dispose();
    },
  );

  test("ALiBi: an edit that takes nothing from a batch of a ring leaves its tokens where they stand", async () => {
    const hw = instance();
    const cache = await hw.kvCache({ ...form, ring: { keepFirst: 1, window: 4 } });
    const at = places(3, 7);
    await cache.append(from(keys[0], 0, 7), from(keys[1], 0, 7), { positions: at, lengths: [7, 3] });
    await cache.remove([7, 1], [7, 2]); // the ring of batch 0 has dropped tokens
    const token = (b: number) => (row: number) => ({ row, at: at.data[b * 7 + row]! });
    const tokens = [[0, 3, 4, 5, 6].map(token(0)), [0, 2].map(token(1))];
    await expectHolds(cache, tokens);
    await cache.append(from(keys[0], 8, 9), from(keys[1], 8, 9));
    await expectHolds(cache, [
      [tokens[0]![0]!, ...tokens[0]!.slice(2), { row: 8, at: 7 }],
      [...tokens[1]!, { row: 8, at: 2 }],
    ]);
    cache.dispose();
  });

  test("ALiBi: a ring keeps where its tokens stand, also those of a long step", async () => {
    const hw = instance();
    const ring = { keepFirst: 2, window: 5 };
    const cache = await hw.kvCache({ ...form, ring });
    let all: Token[][] = span(0, B).map(() => []);
    const shown = () => all.map((list) => [...list.slice(0, 2), ...list.slice(2).slice(-5)]);
    let row = 0;
    for (const length of [3, 1, 1, 1, 4, 1, 9, 2]) {
      const positions = places(row + 11, length);
      const chunk = (x: Rows) => from(x, row, row + length);
      const query = heads(50 + row, HQ, length);
      const { output } = await cache.step(query, chunk(keys[0]), chunk(keys[1]), {
        causal: true,
        positions,
        alibiSlopes: SLOPES,
      });
      const added = span(0, length);
      const before = all;
      all = all.map((list, b) => [
        ...list,
        ...added.map((n) => ({ row: row + n, at: positions.data[b * length + n]! })),
      ]);
      for (const i of added) {
        const seen = all.map((list, b) => {
          const until = list.slice(0, before[b]!.length + i + 1);
          return [...until.slice(0, 2), ...until.slice(2).slice(-5)];
        });
        const alone = await hw.scaledDotProductAttention(
          gathered(
            query,
            all.map(() => [{ row: i, at: 0 }]),
          ),
          gathered(keys[0], seen),
          gathered(keys[1], seen),
          {
            alibiSlopes: SLOPES,
            positions: { data: Int32Array.from(span(0, B), (b) => positions.data[b * length + i]!), shape: [B, 1] },
            keyPositions: atOf(seen),
          },
        );
        const actual = gathered(
          { ...query, data: output.data },
          all.map(() => [{ row: i, at: 0 }]),
        );
        expectClose(actual.data, alone.output.data);
      }
      row += length;
      await expectHolds(cache, shown());
    }
    const loaded = await hw.kvCache({ from: await cache.save() });
    await expectHolds(loaded, shown());
    for (const held of [cache, loaded]) held.dispose();
  });

  test('ALiBi in a ring with positions "cache" counts places, without a rotary embedding', async () => {
    const hw = instance();
    for (const keepFirst of [0, 3]) {
      const ring = { keepFirst, window: 5, positions: "cache" } as const;
      const cache = await hw.kvCache({ ...form, ring });
      let row = 0;
      for (const length of [3, 1, 1, 6, 1, 13, 1, 1]) {
        const chunk = (x: Rows) => from(x, row, row + length);
        const query = heads(70 + row, HQ, length);
        const { output } = await cache.step(query, chunk(keys[0]), chunk(keys[1]), {
          causal: true,
          alibiSlopes: SLOPES,
        });
        for (let i = 0; i < length; ++i) {
          const rows = span(0, row + i + 1);
          const seen = [...rows.slice(0, keepFirst), ...rows.slice(keepFirst).slice(-5)].map((n, at) => ({
            row: n,
            at,
          }));
          const tokens = [seen, seen];
          const one = [[{ row: i, at: 0 }], [{ row: i, at: 0 }]];
          const alone = await hw.scaledDotProductAttention(
            gathered(query, one),
            gathered(keys[0], tokens),
            gathered(keys[1], tokens),
            { alibiSlopes: SLOPES, positions: [seen.length - 1], keyPositions: atOf(tokens) },
          );
          expectClose(gathered({ ...query, data: output.data }, one).data, alone.output.data);
        }
        row += length;
      }
      const loaded = await hw.kvCache({ from: await cache.save() });
      expect(loaded.ring).toEqual(ring);
      const last = heads(99, HQ, 1);
      const [a, b] = [
        await cache.attend(last, { alibiSlopes: SLOPES }),
        await loaded.attend(last, { alibiSlopes: SLOPES }),
      ];
      expect(bits(a.output)).toEqual(bits(b.output));
      for (const held of [cache, loaded]) held.dispose();
    }
  });

  test("ALiBi by positions: what cannot be is refused by name", async () => {
    const hw = instance();
    const [query, key] = [heads(1, HQ, 3), heads(2, HKV, 4)];
    const call = (options: object) => hw.scaledDotProductAttention(query, key, key, options);
    const alibi = { alibiSlopes: SLOPES };
    await expect(call({ positions: [0, 1, 2], keyPositions: [0, 1, 2, 3] })).rejects.toThrow(
      /positions must be absent without alibiSlopes/,
    );
    await expect(call({ ...alibi, positions: [0, 1, 2] })).rejects.toThrow(/keyPositions must be given/);
    await expect(call({ ...alibi, keyPositions: [0, 1, 2, 3] })).rejects.toThrow(/positions must be given/);
    await expect(call({ ...alibi, positions: [0, 1], keyPositions: [0, 1, 2, 3] })).rejects.toThrow(
      /positions\.shape must be \[3\] or \[2, 3\], got \[2\]/,
    );
    const cache = await hw.kvCache({ ...form, rotary: { sections: [1, 2, 1] } });
    const planes = { data: new Int32Array(3 * B * 4), shape: [3, B, 4] };
    await cache.append(key, key, { positions: planes });
    await expect(
      cache.attend(query, { ...alibi, positions: { data: new Int32Array(3 * B * 3), shape: [3, B, 3] } }),
    ).rejects.toThrow(/alibiSlopes must be absent with positions of three planes/);
    cache.dispose();
  });

  test("ALiBi is refused as long as a cache holds a token of three positions, also in copies of it", async () => {
    const hw = instance();
    const [query, key] = [heads(1, HQ, 3), heads(2, HKV, 4)];
    const alibi = { alibiSlopes: SLOPES };
    const refusal = /alibiSlopes must be absent: tokens of the cache were given positions of three planes/;
    const cache = await hw.kvCache({ ...form, rotary: { sections: [1, 2, 1] } });
    await cache.append(key, key);
    const counted = await cache.attend(query, alibi);
    await cache.append(key, key, { positions: { data: new Int32Array(3 * B * 4), shape: [3, B, 4] } });
    const copies = [await cache.fork(), await cache.slice(3, 8), await hw.kvCache({ from: await cache.save() })];
    for (const held of [cache, ...copies]) {
      await expect(held.attend(query, alibi)).rejects.toThrow(refusal);
      await expect(held.step(heads(3, HQ, 1), heads(4, HKV, 1), heads(5, HKV, 1), alibi)).rejects.toThrow(refusal);
      expect((await held.attend(query)).output.shape).toEqual(query.shape);
    }
    await cache.rewind(4);
    expect(bits((await cache.attend(query, alibi)).output)).toEqual(bits(counted.output));
    for (const held of [cache, ...copies]) held.dispose();
  });

  test("a saved cache with positions is refused if a byte of it is missing or wrong", async () => {
    const hw = instance();
    const [plain, bytes] = [await (await filled(hw, {})).save(), await (await filled(hw)).save()];
    const extra = bytes.length - plain.length; // the bytes of the positions
    expect(extra).toBeGreaterThan(0);
    for (const length of [4, extra - 1, extra, extra + 1, plain.length, bytes.length - 1])
      for (const part of [bytes.slice(0, length), bytes.slice(bytes.length - length)])
        if (part.length !== plain.length || part.some((byte, n) => byte !== plain[n]))
          await expect(hw.kvCache({ from: part })).rejects.toMatchObject({ code: "CORRUPT_DATA" });
    for (let n = 0; n < extra + 16; ++n) {
      const damaged = bytes.slice();
      damaged[n]! ^= 1;
      await expect(hw.kvCache({ from: damaged })).rejects.toMatchObject({ code: "CORRUPT_DATA" });
    }
  });

  async function filled(hw: Attention, options: AppendOptions = { positions: [5, 1, 1] }): Promise<KvCache> {
    const cache = await hw.kvCache(form);
    await cache.append(from(keys[0], 0, 3), from(keys[1], 0, 3), options);
    return cache;
  }
}
