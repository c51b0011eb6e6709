// Positions of the caller's own, in layers and caches. Every engine runs these tests.

import { expect, test } from "@jest/globals";
import type { Attention, ForwardOptions, KvCache, LayerPosition } from "headwise";
import { formula } from "headwise/formula";

import { bits, largestDifference } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const [H, D, E] = [2, 8, 16];

const weights = Object.fromEntries(
  ["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(n, [E, E])]),
) as Record<"Wq" | "Wk" | "Wv" | "Wo", ReturnType<typeof randomTensor>>;

/** Angles of 6 positions. */
const COS_SIN = Float32Array.from({ length: 6 * (D / 2) }, (_, n) => Math.floor(n / (D / 2)) * 0.5 ** (n % (D / 2)));

const POSITIONS: Readonly<Record<string, LayerPosition>> = {
  rotary: { kind: "rotary", base: 50 },
  "rotary by tables, shorter than the packed text": {
    kind: "rotary",
    cos: { data: COS_SIN.map(Math.cos), shape: [6, D / 2] },
    sin: { data: COS_SIN.map(Math.sin), shape: [6, D / 2] },
  },
  "rotary by frequencies": { kind: "rotary", frequencies: [1, 0.5, 0.25, 0.125] },
  learned: { kind: "learned", table: randomTensor(5, [9, E]) },
  "learned by a table shorter than the packed text": { kind: "learned", table: randomTensor(5, [4, E]) },
  sinusoidal: { kind: "sinusoidal" },
};

type Heads = ReturnType<typeof randomTensor>;

/** Whether two results agree but for the order of their sums. */
function expectClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  expect(largestDifference(actual, expected)).toBeLessThan(1e-5);
}

/** Rows [from, to) of the second axis from the end of [1, …, S, width]. */
function rowsOf({ data, shape }: { data: Float32Array; shape: readonly number[] }, rows: readonly number[]) {
  const [length, width] = shape.slice(-2) as [number, number];
  const heads = data.length / (length * width);
  const chosen = Array.from({ length: heads }, (_, h) =>
    rows.flatMap((row) => [...data.subarray((h * length + row) * width, (h * length + row + 1) * width)]),
  );
  return { data: Float32Array.from(chosen.flat()), shape: [...shape.slice(0, -2), rows.length, width] };
}

const span = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

export function ownPositionsTests(instance: () => Attention): void {
  const layerWith = (position: LayerPosition | undefined) =>
    instance().multiHeadAttention({ numHeads: H, weights, position });

  test.each(Object.entries(POSITIONS))(
    "%s: packed documents and their gradients are those of each document by itself",
    async (_, position) => {
      const layer = await layerWith(position);
      const x = randomTensor(6, [1, 7, E]);
      const dOutput = randomTensor(7, [1, 7, E]);
      const document = (token: number) => Number(token >= 3);
      const mask = {
        data: Uint8Array.from({ length: 49 }, (__, n) => Number(document(Math.floor(n / 7)) === document(n % 7))),
        shape: [7, 7],
      };
      const packed = await layer.forward(x, { mask, positions: [0, 1, 2, 0, 1, 2, 3], save: true });
      const gradients = await layer.backward(packed.saved, dOutput);
      for (const rows of [span(0, 3), span(3, 7)]) {
        const alone = await layer.forward(rowsOf(x, rows), { save: true });
        expectClose(rowsOf(packed.output, rows).data, alone.output.data);
        const { dInput } = await layer.backward(alone.saved, rowsOf(dOutput, rows));
        expectClose(rowsOf(gradients.dInput, rows).data, dInput.data);
      }
      layer.dispose();
    },
  );

  test.each(Object.entries(POSITIONS))("%s: the indices, in any form, change no bit", async (_, position) => {
    const layer = await layerWith(position);
    const x = randomTensor(8, [2, 4, E]);
    const expected = bits((await layer.forward(x, { causal: true })).output);
    const int64 = { data: BigInt64Array.from([0n, 1n, 2n, 3n, 0n, 1n, 2n, 3n]), shape: [2, 4] };
    for (const positions of [
      [0, 1, 2, 3],
      Int32Array.of(0, 1, 2, 3),
      BigInt64Array.of(0n, 1n, 2n, 3n),
      { data: Int32Array.of(0, 1, 2, 3, 0, 1, 2, 3), shape: [2, 4] },
      int64,
    ])
      expect(bits((await layer.forward(x, { causal: true, positions })).output)).toEqual(expected);
    layer.dispose();
  });

  test.each(Object.entries(POSITIONS))("%s: padding on the left, then a cache", async (_, position) => {
    const layer = await layerWith(position);
    const short = randomTensor(9, [1, 3, E]);
    const next = randomTensor(10, [1, 1, E]);
    const alone = await layer.kvCache({ batchSize: 1 });
    const expected = await layer.forward(short, { cache: alone, causal: true });
    const expectedNext = await layer.forward(next, { cache: alone, causal: true });
    const padded = await layer.kvCache({ batchSize: 1 });
    const x = { data: Float32Array.from([...new Float32Array(2 * E).fill(3), ...short.data]), shape: [1, 5, E] };
    const mask = (length: number) => ({
      data: Uint8Array.from({ length }, (__, j) => Number(j >= 2)),
      shape: [1, length],
    });
    const given = await layer.forward(x, { cache: padded, causal: true, mask: mask(5), positions: [0, 0, 0, 1, 2] });
    const givenNext = await layer.forward(next, { cache: padded, causal: true, mask: mask(6), positions: [3] });
    expectClose(rowsOf(given.output, [2, 3, 4]).data, expected.output.data);
    expectClose(givenNext.output.data, expectedNext.output.data);
    for (const held of [alone, padded, layer]) held.dispose();
  });

  test("ALiBi by a formula: a packed document, and its gradients, are those of the document by itself", async () => {
    const slope = [0.5, 0.25];
    const score = formula("s - slope[h] * abs(at[b][q] - at[b][k])", {
      slope,
      at: { data: Float32Array.of(0, 1, 2, 0, 1, 2, 3), shape: [1, 7] },
    });
    const layer = await layerWith(undefined);
    const [x, dOutput] = [randomTensor(6, [1, 7, E]), randomTensor(7, [1, 7, E])];
    const mask = { data: Uint8Array.from({ length: 49 }, (_, n) => Number(n / 7 >= 3 === n % 7 >= 3)), shape: [7, 7] };
    const packed = await layer.forward(x, { mask, score, save: true });
    const gradients = await layer.backward(packed.saved, dOutput);
    const rows = span(3, 7);
    const alone = await layer.forward(rowsOf(x, rows), { alibiSlopes: slope, save: true });
    expectClose(rowsOf(packed.output, rows).data, alone.output.data);
    const { dInput } = await layer.backward(alone.saved, rowsOf(dOutput, rows));
    expectClose(rowsOf(gradients.dInput, rows).data, dInput.data);
    layer.dispose();
  });

  const rotary = { base: 50 };
  const heads = (seed: number, length: number) => randomTensor(seed, [1, H, length, D]);

  test("a tree of drafts in a rotary cache: each branch is a sequence by itself, and keep takes it as it stands", async () => {
    const hw = instance();
    const form = { numKvHeads: H, headDim: D, rotary };
    const [key, value, ask] = [heads(11, 4), heads(12, 4), heads(13, 4)];
    const [draftKey, draftValue] = [heads(14, 3), heads(15, 3)];
    const query = heads(16, 3);
    const tree = await hw.kvCache(form);
    const branch = await hw.kvCache(form);
    for (const cache of [tree, branch]) await cache.append(key, value);
    // drafts 0 and 1 both follow token 3, draft 2 follows draft 1
    const sees = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 1, 1],
    ];
    const mask = { data: Uint8Array.from(sees.flatMap((row) => [1, 1, 1, 1, ...row])), shape: [3, 7] };
    const drafts = await tree.step(query, draftKey, draftValue, { mask, positions: [4, 4, 5] });
    const line = await branch.step(rowsOf(query, [1, 2]), rowsOf(draftKey, [1, 2]), rowsOf(draftValue, [1, 2]), {
      causal: true,
    });
    expectClose(rowsOf(drafts.output, [1, 2]).data, line.output.data);
    const loaded = await hw.kvCache({ from: await tree.save() });
    const fork = await tree.fork();
    for (const cache of [tree, loaded, fork]) {
      await cache.keep(4, [1, 2]);
      const asked = rowsOf(ask, [0]);
      expectClose((await cache.attend(asked)).output.data, (await branch.attend(asked)).output.data);
    }
    expect(await loaded.save()).toEqual(await tree.save());
    for (const cache of [tree, branch, loaded, fork]) cache.dispose();
  });

  test("keyPositions: tokens of another tensor give keys that stand where they say, and so do gradients", async () => {
    const sections = [1, 2, 1];
    const planes = (...numbers: number[][]) => ({
      data: Int32Array.from(numbers.flat()),
      shape: [3, 1, numbers[0]!.length],
    });
    const cases: [LayerPosition, ForwardOptions["positions"], ForwardOptions["positions"]][] = [
      [{ kind: "rotary", base: 50 }, [9, 2, 4], [3, 8, 0, 5, 5]],
      [
        { kind: "rotary", sections },
        planes([1, 1, 2], [0, 1, 2], [2, 1, 2]),
        planes([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [0, 0, 7, 0, 0]),
      ],
    ];
    for (const [position, positions, keyPositions] of cases) {
      const layer = await layerWith(position);
      const [x, context, dOutput] = [
        randomTensor(50, [1, 3, E]),
        randomTensor(51, [1, 5, E]),
        randomTensor(52, [1, 3, E]),
      ];
      // The same as self-attention over both, where the last three rows ask and the first five answer.
      const both = { data: Float32Array.of(...context.data, ...x.data), shape: [1, 8, E] };
      const joined = (of: (at: number) => number[]) => Int32Array.from([0, 1, 2].flatMap(of));
      const all =
        position.kind === "rotary" && position.sections
          ? {
              data: joined((n) => [
                ...(keyPositions as ReturnType<typeof planes>).data.subarray(5 * n, 5 * n + 5),
                ...(positions as ReturnType<typeof planes>).data.subarray(3 * n, 3 * n + 3),
              ]),
              shape: [3, 1, 8],
            }
          : [...(keyPositions as number[]), ...(positions as number[])];
      const mask = { data: Uint8Array.of(1, 1, 1, 1, 1, 0, 0, 0), shape: [1, 8] };
      const expected = await layer.forward(both, { positions: all, mask, save: true });
      const actual = await layer.forward(x, { key: context, positions, keyPositions, save: true });
      expectClose(actual.output.data, rowsOf(expected.output, [5, 6, 7]).data);
      const padded = { data: Float32Array.of(...new Float32Array(5 * E), ...dOutput.data), shape: [1, 8, E] };
      const [gradients, whole] = [
        await layer.backward(actual.saved, dOutput, { returns: { dInput: true, dContext: true } }),
        await layer.backward(expected.saved, padded),
      ];
      expectClose(gradients.dInput.data, rowsOf(whole.dInput, [5, 6, 7]).data);
      expectClose(gradients.dContext.data, rowsOf(whole.dInput, span(0, 5)).data);
      layer.dispose();
    }
    const tables = {
      cos: randomTensor(53, [6, 4]),
      sin: randomTensor(54, [6, 4]),
    };
    const layer = await layerWith({ kind: "rotary", ...tables });
    const call = layer.forward(randomTensor(50, [1, 3, E]), {
      key: randomTensor(51, [1, 5, E]),
      positions: [0, 1, 2],
      keyPositions: [0, 1, 2, 6, 3],
    });
    await expect(call).rejects.toThrow(/keyPositions must be rows of cos and sin, 0 to 5, got 6/);
    layer.dispose();
  });

  test("keyPositions: a rotary cache turns the keys of another tensor by them", async () => {
    const hw = instance();
    const layer = await layerWith(undefined);
    const [x, context] = [randomTensor(55, [1, 2, E]), randomTensor(56, [1, 4, E])];
    const turning = await layerWith({ kind: "rotary", base: 50 });
    const cache = await layer.kvCache({ rotary });
    const given = { key: context, positions: [6, 1], keyPositions: [2, 7, 3, 0] } as const;
    const expected = await turning.forward(x, given);
    expectClose((await layer.forward(x, { ...given, cache })).output.data, expected.output.data);
    const again = await layer.forward(x, { cache, attendOnly: true, positions: [6, 1] });
    expectClose(again.output.data, expected.output.data);
    for (const held of [layer, turning, cache]) held.dispose();
    expect(hw.report.backend).toBeDefined();
  });

  test("an append of no tokens gives no positions, so later edits turn keys", async () => {
    const [key, value] = [randomTensor(40, [1, H, 4, D]), randomTensor(41, [1, H, 4, D])];
    const edited = async (appendNone?: (cache: KvCache) => Promise<void>) => {
      const cache = await instance().kvCache({ numKvHeads: H, headDim: D, rotary: {} });
      await cache.append(key, value);
      await appendNone?.(cache);
      await cache.remove(1, 2);
      return (await cache.read()).key;
    };
    const expected = bits(await edited());
    const none = [rowsOf(key, []), rowsOf(value, [])] as const;
    const padding = { positions: [5, 6, 7, 8], lengths: [0] };
    expect(bits(await edited((cache) => cache.append(...none, { positions: [] })))).toEqual(expected);
    expect(bits(await edited((cache) => cache.append(key, value, padding)))).toEqual(expected);
  });

  test("positions of tokens that are gone do not count: later edits turn keys", async () => {
    const [key, value] = [randomTensor(40, [1, H, 4, D]), randomTensor(41, [1, H, 4, D])];
    const edited = async (emptied?: (cache: KvCache) => Promise<KvCache | void>) => {
      const given = await instance().kvCache({ numKvHeads: H, headDim: D, rotary: {} });
      if (emptied) await given.append(key, value, { positions: [3, 1, 2, 0] });
      const cache = (await emptied?.(given)) ?? given;
      await cache.append(key, value);
      await cache.remove(1, 2);
      return (await cache.read()).key;
    };
    const expected = bits(await edited());
    expect(bits(await edited((cache) => cache.rewind(0)))).toEqual(expected);
    expect(bits(await edited((cache) => cache.keep(0, [])))).toEqual(expected);
    expect(bits(await edited((cache) => cache.remove(0, 4)))).toEqual(expected);
    expect(bits(await edited((cache) => cache.slice(0, 0)))).toEqual(expected);
  });

  test("a call with positions that fails gives none, so later edits turn keys", async () => {
    const hw = instance();
    const [key, value, one] = [40, 41, 42].map((seed, n) => randomTensor(seed, [1, H, n < 2 ? 4 : 1, D])) as [
      Heads,
      Heads,
      Heads,
    ];
    const mask = [false, false, false, false, false];
    const refused = { positions: [9], mask: [mask], emptyRows: "throw" } as const;
    const edited = async (failing?: (cache: KvCache) => Promise<unknown>) => {
      const cache = await hw.kvCache({ numKvHeads: H, headDim: D, rotary: {} });
      await cache.append(key, value);
      if (failing) await expect(failing(cache)).rejects.toThrow("sees no key");
      await cache.remove(1, 2);
      return (await cache.read()).key;
    };
    const expected = bits(await edited());
    expect(bits(await edited((cache) => cache.step(one, one, one, refused)))).toEqual(expected);
    const layer = await hw.multiHeadAttention({ numHeads: H, weights });
    const x = randomTensor(43, [1, 1, E]);
    expect(bits(await edited((cache) => layer.forward(x, { cache, ...refused })))).toEqual(expected);
  });

  test("a token that stays in a ring after a call that failed stands where it was put", async () => {
    const hw = instance();
    const one = randomTensor(44, [1, H, 1, D]);
    const layer = await hw.multiHeadAttention({ numHeads: H, weights });
    const [x, alibiSlopes] = [randomTensor(45, [1, 1, E]), [1, 1]];
    const refused = { positions: [90], alibiSlopes, mask: [[false]], emptyRows: "throw" } as const;
    for (const failing of [
      (cache: KvCache) => cache.step(one, one, one, refused),
      (cache: KvCache) => layer.forward(x, { ...refused, cache }),
    ]) {
      const ring = await hw.kvCache({ numKvHeads: H, headDim: D, ring: { window: 1 } });
      await ring.append(one, one, { positions: [7] });
      await expect(failing(ring)).rejects.toThrow("sees no key");
      expect(ring.appended).toEqual([2]);
      const scores = async (slopes: number[]) => {
        const options = { positions: [93], alibiSlopes: slopes, returns: { scores: "biased" } } as const;
        return (await ring.attend(one, options)).scores.data;
      };
      const [near, far] = [await scores([0, 0]), await scores(alibiSlopes)];
      expectClose(
        far,
        near.map((score) => score - 3),
      );
    }
  });

  test("append and attend at positions of each batch", async () => {
    const hw = instance();
    const form = { numKvHeads: H, headDim: D, rotary };
    const batch = (seed: number, length: number) => randomTensor(seed, [2, H, length, D]);
    const [key, value, query] = [batch(17, 3), batch(18, 3), batch(19, 1)];
    const cache = await hw.kvCache({ ...form, batchSize: 2 });
    const positions = { data: Int32Array.of(7, 8, 9, 2, 1, 0), shape: [2, 3] };
    await cache.append(key, value, { positions });
    const at = { data: Int32Array.of(11, 5), shape: [2, 1] };
    const { output } = await cache.attend(query, { positions: at });
    const turn = (x: typeof key, of: typeof at) => hw.rotaryEmbedding(x, { ...rotary, positions: of });
    const expected = await hw.scaledDotProductAttention(await turn(query, at), await turn(key, positions), value);
    expectClose(output.data, expected.output.data);
    await cache.rewind(0);
    await cache.append(key, value);
    const fresh = await hw.kvCache({ ...form, batchSize: 2 });
    await fresh.append(key, value);
    expect(await cache.save()).toEqual(await fresh.save()); // an empty cache has forgotten
    for (const held of [cache, fresh]) held.dispose();
  });

  test("sections: the pairs of section i turn by positions[i]", async () => {
    const sections = [1, 2, 1];
    const plane = (seed: number) => Int32Array.from({ length: 6 }, (_, n) => (n * seed + seed) % 11);
    const planes = [plane(3), plane(5), plane(7)];
    const x = randomTensor(20, [2, 3, E]);
    for (const interleaved of [false, true]) {
      const layer = await layerWith({ kind: "rotary", interleaved, sections });
      const plain = await layerWith({ kind: "rotary", interleaved });
      const returns = { query: true, key: true } as const;
      const all = { data: Int32Array.from(planes.flatMap((each) => [...each])), shape: [3, 2, 3] };
      const turned = await layer.forward(x, { positions: all, returns });
      const ofPlanes: Record<"query" | "key", { readonly data: Float32Array }>[] = [];
      for (const data of planes) ofPlanes.push(await plain.forward(x, { positions: { data, shape: [2, 3] }, returns }));
      const section = [0, 1, 1, 2];
      for (const role of ["query", "key"] as const)
        turned[role].data.forEach((value, n) => {
          const pair = interleaved ? (n % D) >> 1 : n % (D / 2);
          expect(value).toBe(ofPlanes[section[pair]!]![role].data[n]);
        });
      const dOutput = randomTensor(21, [2, 3, E]);
      const same = { data: Int32Array.from([0, 1, 2].flatMap(() => [...planes[0]!])), shape: [3, 2, 3] };
      const a = await layer.forward(x, { positions: same, save: true });
      const b = await plain.forward(x, { positions: { data: planes[0]!, shape: [2, 3] }, save: true });
      expect(bits(a.output)).toEqual(bits(b.output));
      expect(bits((await layer.backward(a.saved, dOutput)).dInput)).toEqual(
        bits((await plain.backward(b.saved, dOutput)).dInput),
      );
      expect(bits((await layer.forward(x)).output)).toEqual(bits((await plain.forward(x)).output));
      const cache = await layer.kvCache({ batchSize: 2 });
      expectClose((await layer.forward(x, { positions: all, cache })).output.data, turned.output.data);
      for (const held of [layer, plain, cache]) held.dispose();
    }
  });

  test("sections: positions of three planes and those of three batches are not the same, though their numbers are", async () => {
    const layer = await layerWith({ kind: "rotary", sections: [1, 2, 1] });
    const [x, batch] = [randomTensor(57, [1, 32, E]), randomTensor(58, [3, 32, E])];
    const data = Int32Array.from({ length: 96 }, (_, n) => (7 * n) % 41);
    const calls = [
      [x, { data, shape: [3, 1, 32] }],
      [batch, { data, shape: [3, 32] }],
    ] as const;
    const outputs = [];
    for (const [tokens, positions] of [...calls, calls[0]])
      outputs.push((await layer.forward(tokens, { positions })).output);
    const fresh = await layerWith({ kind: "rotary", sections: [1, 2, 1] });
    for (const n of [1, 0] as const) {
      const [tokens, positions] = calls[n];
      expect(bits(outputs[n]!)).toEqual(bits((await fresh.forward(tokens, { positions })).output));
    }
    expect(bits(outputs[2]!)).toEqual(bits(outputs[0]!));
    for (const held of [layer, fresh]) held.dispose();
  });

  test("sections: a cache turns queries and keys by [3, B, S] as a layer does", async () => {
    const hw = instance();
    const sections = [1, 2, 1];
    const x = randomTensor(60, [2, 7, E]);
    const plane = (seed: number) => Int32Array.from({ length: 14 }, (_, n) => (n * seed + seed) % 11);
    const planes = [plane(3), plane(5), plane(7)];
    const between = (from: number, to: number) => ({
      x: {
        data: Float32Array.of(...[0, 1].flatMap((b) => [...x.data.subarray((7 * b + from) * E, (7 * b + to) * E)])),
        shape: [2, to - from, E],
      },
      positions: {
        data: Int32Array.from(
          planes.flatMap((of) => [0, 1].flatMap((b) => [...of.subarray(7 * b + from, 7 * b + to)])),
        ),
        shape: [3, 2, to - from],
      },
    });
    for (const interleaved of [false, true]) {
      const angles = { base: 50, interleaved, sections };
      const turning = await layerWith({ kind: "rotary", ...angles });
      const layer = await layerWith(undefined);
      const own = await turning.kvCache({ batchSize: 2 });
      const cache = await layer.kvCache({ batchSize: 2, rotary: angles });
      for (const [from, to] of [
        [0, 3],
        [3, 4],
        [4, 7],
      ] as const) {
        const { x: part, positions } = between(from, to);
        const expected = await turning.forward(part, { cache: own, causal: true, positions });
        const actual = await layer.forward(part, { cache, causal: true, positions });
        expectClose(actual.output.data, expected.output.data);
      }
      // keep leaves keys where they stand; saved caches, forks and selected batches go on alike
      const bytes = await cache.save();
      const [loaded, fork] = [await hw.kvCache({ from: bytes }), await cache.fork()];
      expect(await loaded.save()).toEqual(bytes);
      const { x: one, positions } = between(6, 7);
      const ask = (held: typeof cache) => layer.forward(one, { cache: held, attendOnly: true, positions });
      const mask = { data: Uint8Array.of(1, 0, 0, 1, 1, 1, 1), shape: [1, 7] };
      const masked = await layer.forward(one, { cache, attendOnly: true, positions, mask });
      for (const held of [cache, loaded, fork]) {
        await held.remove(1, 3);
        expectClose((await ask(held)).output.data, masked.output.data);
      }
      for (const held of [turning, layer, own, cache, loaded, fork]) held.dispose();
    }
    // append, attend and step, in a ring too: three equal planes are one
    for (const ring of [undefined, { keepFirst: 1, window: 3 }]) {
      const form = { numKvHeads: H, headDim: D, ring };
      const [by3, by1] = [
        await hw.kvCache({ ...form, rotary: { sections } }),
        await hw.kvCache({ ...form, rotary: {} }),
      ];
      const at = (numbers: number[]) => ({
        data: Int32Array.from([...numbers, ...numbers, ...numbers]),
        shape: [3, 1, numbers.length],
      });
      await by3.append(heads(61, 3), heads(62, 3), { positions: at([4, 0, 9]) });
      await by1.append(heads(61, 3), heads(62, 3), { positions: [4, 0, 9] });
      const step = [heads(63, 2), heads(64, 2), heads(65, 2)] as const;
      const [a, b] = [
        await by3.step(...step, { positions: at([7, 2]), causal: true }),
        await by1.step(...step, { positions: [7, 2], causal: true }),
      ];
      expect(bits(a.output)).toEqual(bits(b.output));
      const [c, d] = [
        await by3.attend(heads(66, 1), { positions: at([5]) }),
        await by1.attend(heads(66, 1), { positions: [5] }),
      ];
      expect(bits(c.output)).toEqual(bits(d.output));
      // without positions all planes are the indices, and keep turns
      for (const held of [by3, by1]) {
        await held.rewind(0).catch(() => undefined);
        held.dispose();
      }
      const plain = [
        await hw.kvCache({ ...form, ring: undefined, rotary: { sections } }),
        await hw.kvCache({ ...form, ring: undefined, rotary: {} }),
      ];
      for (const held of plain) await held.append(heads(61, 5), heads(62, 5));
      for (const held of plain) await held.remove(1, 2);
      const [e, f] = [await plain[0]!.attend(heads(66, 1)), await plain[1]!.attend(heads(66, 1))];
      expect(bits(e.output)).toEqual(bits(f.output));
      for (const held of plain) held.dispose();
    }
  });

  test("what cannot be is refused by name", async () => {
    const hw = instance();
    const x = randomTensor(22, [1, 3, E]);
    const refused: [LayerPosition | undefined, ForwardOptions, RegExp][] = [
      [
        undefined,
        { positions: [0, 1, 2] },
        /positions must be absent: neither the layer nor a cache nor alibiSlopes uses them/,
      ],
      [{ kind: "rotary" }, { positions: [0, 1] }, /positions\.shape must be \[3\] or \[1, 3\], got \[2\]/],
      [{ kind: "rotary" }, { positions: [0, 1.5, 2] }, /positions\[1\] must be an integer/],
      [
        { kind: "rotary", sections: [1, 2, 1] },
        { positions: { data: new Int32Array(9), shape: [3, 1, 3] }, alibiSlopes: [1, 1] },
        /alibiSlopes must be absent with positions of three planes/,
      ],
      [
        { kind: "rotary" },
        { positions: [0, 1, 2], key: x },
        /keyPositions must be given: positions are those of x, and the keys of `key` are turned/,
      ],
      [
        { kind: "rotary" },
        { positions: [0, 1, 2], keyPositions: [0, 1, 2] },
        /keyPositions must be absent without key/,
      ],
      [{ kind: "rotary" }, { keyPositions: [0, 1, 2], key: x }, /keyPositions must be absent without positions/],
      [
        { kind: "rotary" },
        { positions: [0, 1, 2], keyPositions: [0, 1], key: x },
        /keyPositions\.shape must be \[3\] or \[1, 3\], got \[2\]/,
      ],
      [
        POSITIONS.sinusoidal,
        { positions: [0, 1, 2], keyPositions: [0, 1, 2], key: x },
        /keyPositions must be absent where keys are not turned, without alibiSlopes/,
      ],
      [
        { kind: "rotary", sections: [1, 2, 1] },
        { positions: { data: new Int32Array(9), shape: [3, 1, 3] }, keyPositions: [0, 1, 2], key: x },
        /keyPositions must have as many planes as positions, got 1 and 3/,
      ],
      [
        { kind: "rotary", sections: [1, 2, 1] },
        { positions: { data: new Int32Array(6), shape: [2, 1, 3] } },
        /\[3, 1, 3\]/,
      ],
      [POSITIONS.learned, { positions: [0, 9, 2] }, /positions must be rows of position\.table, 0 to 8, got 9/],
    ];
    for (const [position, options, message] of refused) {
      const layer = await layerWith(position);
      await expect(layer.forward(x, options)).rejects.toThrow(message);
      layer.dispose();
    }
    await expect(layerWith({ kind: "rotary", sections: [1, 2, 3] })).rejects.toThrow(/sections must sum to/);
    await expect(hw.kvCache({ numKvHeads: H, headDim: D, rotary: { sections: [1, 2, 2] } })).rejects.toThrow(
      /sections must sum to/,
    );
    await expect(hw.rotaryEmbedding(heads(1, 2), { sections: [1, 2, 1] })).rejects.toThrow(
      /sections must be absent: only layers and caches turn by sections/,
    );
    const plain = await hw.kvCache({ numKvHeads: H, headDim: D });
    await plain.append(heads(1, 2), heads(2, 2), { positions: [0, 1] });
    await expect(plain.attend(heads(3, 1), { positions: [2] })).rejects.toThrow(
      /positions must be absent with a cache that is not rotary, without alibiSlopes/,
    );
    const turning = await hw.kvCache({ numKvHeads: H, headDim: D, rotary });
    await turning.append(heads(1, 2), heads(2, 2));
    const planes = { data: new Int32Array(3), shape: [3, 1, 1] };
    await expect(turning.attend(heads(3, 1), { positions: planes })).rejects.toThrow(
      /positions\.shape must be \[1\] or \[1, 1\], got \[3, 1, 1\]/,
    );
    for (const held of [plain, turning]) held.dispose();
  });
}
