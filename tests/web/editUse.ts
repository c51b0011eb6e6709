import { expect } from "@jest/globals";
import {
  tensor,
  toNested,
  type Attention,
  type CacheDtype,
  type KvCache,
  type RotaryAngles,
  type Tensor,
} from "headwise";

import { tokenElement } from "./modelCache.js";
import { randomTensor } from "./randomTensor.js";

// Caches whose batches are reordered (select) and whose tokens are taken out (keep, remove), against caches that were
// given only what stays. The same tests run on all engines.

const [B, HKV, HQ, D, DV] = [3, 2, 4, 8, 5];
const form = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV } as const;
const DTYPES: readonly CacheDtype[] = ["float32", "float16", "int8"];
/** Its amplitude is not 1: a key must not be multiplied by it a second time. */
const YARN: RotaryAngles = { base: 100, rotaryDim: 6, scaling: { kind: "yarn", factor: 4, originalLength: 16 } };
const FORMS = [
  {},
  { ring: { keepFirst: 2, window: 3 } },
  { rotary: { base: 100, interleaved: true } },
  { rotary: YARN },
];

/** Token numbers, by batch. */
type Tokens = readonly (readonly number[])[];

const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
/** Nine, four and six tokens. The batches have no number in common. */
const TOKENS: Tokens = [upTo(0, 9), upTo(100, 104), upTo(200, 206)];
const NEXT: Tokens = [upTo(9, 11), upTo(104, 107), upTo(206, 207)];

/** The rows of tokens, [B, Hkv, S, width]. Behind shorter batches is padding that nobody may read. */
function rowsOf(side: "key" | "value", width: number, tokens: Tokens): Tensor<"float32"> {
  const length = Math.max(...tokens.map((batch) => batch.length));
  const heads = upTo(0, HKV);
  const rows = (batch: readonly number[], g: number) =>
    upTo(0, length).flatMap((s) => upTo(0, width).map((d) => (s in batch ? tokenElement(side, batch[s]!, g, d) : NaN)));
  const data = Float32Array.from(tokens.flatMap((batch) => heads.flatMap((g) => rows(batch, g))));
  return tensor(data, [B, HKV, length, width]);
}

function append(cache: KvCache, tokens: Tokens): Promise<void> {
  const lengths = tokens.map((batch) => batch.length);
  return cache.append(rowsOf("key", D, tokens), rowsOf("value", DV, tokens), { lengths });
}

async function holding(hw: Attention, options: Partial<Parameters<Attention["kvCache"]>[0]>, ...appends: Tokens[]) {
  const cache = await hw.kvCache({ ...form, ...options });
  for (const tokens of appends) await append(cache, tokens);
  return cache;
}

const selected = (tokens: Tokens, indices: readonly number[]): Tokens => indices.map((b) => tokens[b]!);

/** What is left of the tokens of each batch. */
const left = (tokens: Tokens, from: readonly number[], rows: readonly (readonly number[])[]): Tokens =>
  tokens.map((batch, b) => [...batch.slice(0, from[b]), ...rows[b]!.map((row) => batch[from[b]! + row]!)]);

/** Fails unless two caches hold the same bits, attend alike, and do so after the same further tokens. */
async function expectSame(actual: KvCache, expected: KvCache): Promise<void> {
  for (const more of [undefined, NEXT]) {
    if (more) for (const cache of [actual, expected]) await append(cache, more);
    expect(actual.appended).toEqual(expected.appended);
    expect(actual.lengths).toEqual(expected.lengths);
    expect(Buffer.compare(await actual.save(), await expected.save())).toBe(0);
    const query = randomTensor(7, [B, HQ, 1, D]);
    const options = { returns: { output: true, lse: true } } as const;
    expect(await actual.attend(query, options)).toEqual(await expected.attend(query, options));
  }
}

/** Branches: where they begin, and the rows that stay. The last ones are what `remove` leaves of a range. */
const BRANCHES: readonly { from: readonly number[]; rows: readonly (readonly number[])[] }[] = [
  { from: [4, 2, 6], rows: [[0, 2, 4], [1], []] },
  {
    from: [1, 0, 3],
    rows: [
      [1, 2, 5, 7],
      [2, 3],
      [0, 1],
    ],
  },
  { from: [9, 4, 0], rows: [[], [], [3]] },
  { from: [2, 2, 2], rows: [upTo(3, 7), [], [3]] },
];

const U = 2 ** -24;

/**
 * How far a feature of a key that was turned twice may be from that of a key that was turned once, if the pair of features
 * has this length and the largest feature of the key this size. Each of the three turns is off by at most 3 √2 U of the
 * pair: cos or sin, product and sum are rounded in both features. Each of the three storings rounds both features: float16
 * by 2⁻¹¹, int8 by 0.5001 scales. The first scale of int8 is that of other angles: up to √2 times as large.
 */
function turningTolerance(dtype: CacheDtype, pair: number, largest: number): number {
  const slack = 1.05; // the lengths are themselves those of rounded keys
  const turns = 9 * Math.SQRT2 * U * pair;
  if (dtype === "float32") return slack * turns;
  if (dtype === "float16") return slack * (turns + 3 * 2 ** -11 * pair);
  return slack * (turns + (5 * 0.5001 * largest) / 127);
}

/** Fails unless the keys that moved are as those of a cache of the kept tokens, and all else has its bits. */
async function expectTurned(
  edited: KvCache,
  fresh: KvCache,
  moved: (b: number, row: number) => boolean,
): Promise<void> {
  expect(edited.appended).toEqual(fresh.appended);
  const [actual, expected] = [await edited.read(), await fresh.read()];
  expect(actual.value).toEqual(expected.value);
  const nested = (key: Tensor) => toNested<number[][][][]>(key as Tensor<"float32">);
  const want = nested(expected.key);
  nested(actual.key).forEach((heads, b) =>
    heads.forEach((rows, g) =>
      rows.forEach((row, s) => {
        const key = want[b]![g]![s]!;
        const largest = Math.max(...key.map(Math.abs));
        const far = row.filter((x, d) => {
          const half = YARN.rotaryDim! / 2;
          const pair = d < 2 * half ? Math.hypot(key[d % half]!, key[(d % half) + half]!) : Math.abs(key[d]!);
          const most = moved(b, s) ? turningTolerance(edited.dtype, pair, largest) : 0;
          return !(Math.abs(x - key[d]!) <= most);
        });
        expect(far).toEqual([]);
      }),
    ),
  );
}

type Use = (hw: Attention) => Promise<void>;

/** What an edited cache must do on every engine. The keys are the names of the tests. */
export const editUses: Readonly<Record<string, Use>> = {
  "select gives each batch what another held": async (hw) => {
    const orders = [
      [1, 0, 1],
      [2, 0, 1],
      [2, 2, 2],
      [0, 1, 2],
    ];
    for (const [n, options] of FORMS.entries())
      for (const [m, indices] of orders.entries()) {
        const dtype = DTYPES[(n + m) % DTYPES.length]!; // so every two of form, order and dtype meet
        const cache = await holding(hw, { ...options, dtype }, TOKENS);
        await cache.select(indices);
        await expectSame(cache, await holding(hw, { ...options, dtype }, selected(TOKENS, indices)));
      }
  },

  "select takes the lengths of the last append along": async (hw) => {
    const indices = Int32Array.of(2, 0, 0);
    const cache = await holding(hw, { rotary: YARN }, TOKENS, NEXT);
    await cache.select(indices);
    const fresh = await holding(hw, { rotary: YARN }, selected(TOKENS, [...indices]), selected(NEXT, [...indices]));
    const query = randomTensor(8, [B, HQ, 3, D]); // as many rows as NEXT: their lengths are those of NEXT
    const queryLengths = [1, 2, 2];
    const expected = await fresh.attend(query, { causal: true, queryLengths });
    expect(await cache.attend(query, { causal: true })).toEqual(expected);
  },

  "keep and remove that leave every token change nothing, and the last append is known": async (hw) => {
    const [edited, untouched] = [await holding(hw, {}, TOKENS), await holding(hw, {}, TOKENS)];
    await edited.remove(1, 1);
    await edited.remove(4, 4);
    await edited.keep(
      [9, 3, 4],
      TOKENS.map((batch, b) => upTo(0, batch.length - [9, 3, 4][b]!)),
    );
    const query = randomTensor(7, [B, HQ, 9, D]);
    expect(await edited.attend(query, { causal: true })).toEqual(await untouched.attend(query, { causal: true }));
    await expect(edited.keep(9, [[1], [], []])).rejects.toThrow("cache.keep:");
  },

  "an append of no tokens gives no positions: keep and remove turn what moves, as without it": async (hw) => {
    const [given, untouched] = [
      await holding(hw, { rotary: YARN }, TOKENS),
      await holding(hw, { rotary: YARN }, TOKENS),
    ];
    const none = (width: number) => tensor(new Float32Array(), [B, HKV, 0, width]);
    await given.append(none(D), none(DV), { positions: [] });
    for (const cache of [given, untouched]) await cache.remove(1, 2);
    expect(await given.read()).toEqual(await untouched.read());
  },

  "select and keep leave forks alone": async (hw) => {
    for (const dtype of DTYPES) {
      const cache = await holding(hw, { dtype, rotary: YARN }, TOKENS);
      const fork = await cache.fork();
      const before = await cache.save();
      await cache.select([1, 2, 0]);
      expect(await fork.save()).toEqual(before);
      await cache.keep(1, [1, 2]);
      await append(cache, NEXT);
      expect(await fork.save()).toEqual(before);
      await fork.select([0, 0, 0]);
      await fork.remove(0, 2);
      expect(cache.appended).toEqual([5, 6, 4]);
    }
  },

  "select continues the batches of slices at their own angles": async (hw) => {
    const cache = await holding(hw, { rotary: YARN }, TOKENS);
    const [one, two] = [await cache.slice(3, 8), await cache.slice(3, 8)];
    await one.select([1, 2, 0]);
    await append(one, selected(NEXT, [1, 2, 0]));
    await append(two, NEXT);
    await two.select([1, 2, 0]);
    expect(await one.save()).toEqual(await two.save());
  },

  "keep leaves a branch, and the cache is as if it had only that": async (hw) => {
    for (const dtype of DTYPES)
      for (const { from, rows } of BRANCHES) {
        const cache = await holding(hw, { dtype }, TOKENS);
        await cache.keep(from, rows);
        await expectSame(cache, await holding(hw, { dtype }, left(TOKENS, from, rows)));
      }
  },

  "keep takes one position and one list for all batches": async (hw) => {
    const cache = await holding(hw, {}, TOKENS);
    await cache.keep(1, Int32Array.of(0, 2));
    const rows = [0, 2];
    await expectSame(cache, await holding(hw, {}, left(TOKENS, [1, 1, 1], [rows, rows, rows])));
    const rewound = await holding(hw, {}, TOKENS);
    await rewound.keep(5, []);
    expect(rewound.lengths).toEqual([5, 4, 5]);
  },

  "keep turns the keys of a rotary cache to their new positions": async (hw) => {
    for (const dtype of DTYPES)
      for (const { from, rows } of BRANCHES) {
        const cache = await holding(hw, { dtype, rotary: YARN }, TOKENS);
        await cache.keep(from, rows);
        // A batch of which nothing stays before the branch keeps the angles of its first row, as a slice does.
        const skipped = from.map((start, b) => (start === 0 ? (rows[b]![0] ?? 0) : 0));
        const most = Math.max(...skipped);
        const lead = (b: number) => TOKENS[b]!.slice(0, skipped[b]);
        const kept = left(TOKENS, from, rows);
        const long = await holding(
          hw,
          { dtype, rotary: YARN },
          kept.map((tokens, b) => [...lead(b), ...tokens]),
        );
        if (most > 0) await long.remove([0, 0, 0], skipped);
        const isMoved = (b: number, s: number) => {
          const row = s - from[b]!;
          return row >= 0 && row in rows[b]! && rows[b]![row]! - row - skipped[b]! !== 0;
        };
        await expectTurned(cache, long, isMoved);
        for (const each of [cache, long]) await append(each, NEXT);
        await expectTurned(cache, long, isMoved);
      }
  },

  "remove takes a range out, and the later tokens take its positions": async (hw) => {
    for (const dtype of DTYPES) {
      const cache = await holding(hw, { dtype }, TOKENS);
      await cache.remove(2, 5); // the second batch ends within the range
      const rows = [upTo(3, 7), [], [3]];
      await expectSame(cache, await holding(hw, { dtype }, left(TOKENS, [2, 2, 2], rows)));
      const each = await holding(hw, { dtype }, TOKENS);
      await each.remove([0, 1, 6], [4, 2, 6]);
      await expectSame(each, await holding(hw, { dtype }, [upTo(4, 9), [100, 102, 103], upTo(200, 206)]));
    }
  },

  "remove turns what moves, except from position 0: there the angles stay, as in a slice": async (hw) => {
    for (const dtype of DTYPES) {
      const cache = await holding(hw, { dtype, rotary: YARN }, TOKENS);
      const slice = await cache.slice(3);
      await cache.remove(0, 3);
      await expectSame(cache, slice);
      const middle = await holding(hw, { dtype, rotary: YARN }, TOKENS);
      await middle.remove(2, 3);
      const rows = TOKENS.map((tokens) => upTo(1, tokens.length - 2));
      const fresh = await holding(hw, { dtype, rotary: YARN }, left(TOKENS, [2, 2, 2], rows));
      await expectTurned(middle, fresh, (b, s) => s >= 2 && s < TOKENS[b]!.length - 1);
    }
  },

  "an edited cache is saved and loaded": async (hw) => {
    const cache = await holding(hw, { dtype: "int8", rotary: YARN }, TOKENS);
    await cache.select([2, 0, 1]);
    await cache.remove(1, 3);
    await cache.keep([0, 2, 1], [[1], [0, 2], []]);
    await expectSame(await hw.kvCache({ from: await cache.save() }), cache);
  },

  "edits take effect in the order of the calls": async (hw) => {
    const cache = await hw.kvCache(form);
    await Promise.all([
      append(cache, TOKENS),
      cache.select([1, 2, 0]),
      append(cache, NEXT),
      cache.keep([3, 6, 9], [[0, 2], [], [0]]),
      cache.remove(0, 1),
    ]);
    const all = selected(TOKENS, [1, 2, 0]).map((tokens, b) => [...tokens, ...NEXT[b]!]);
    const kept = left(all, [3, 6, 9], [[0, 2], [], [0]]).map((tokens) => tokens.slice(1));
    await expectSame(cache, await holding(hw, {}, kept));
  },

  "a ring can be edited until it drops a token": async (hw) => {
    const ring = { keepFirst: 2, window: 7 };
    const cache = await holding(hw, { ring }, TOKENS);
    await cache.keep(3, [0]);
    await expectSame(cache, await holding(hw, { ring }, left(TOKENS, [3, 3, 3], [[0], [0], [0]])));
    await append(cache, TOKENS);
    const before = await cache.save();
    for (const edit of [() => cache.remove(1, 2), () => cache.keep(8, []), () => cache.keep(0, [0])])
      await expect(edit()).rejects.toMatchObject({
        name: "OptionError",
        message: expect.stringMatching(/batch 0 of a ring has dropped tokens/) as unknown,
      });
    expect(await cache.save()).toEqual(before);
    await cache.remove(3, 3); // removes nothing
    await cache.select([1, 0, 2]);
    expect(cache.lengths).toEqual([9, 9, 9]);
  },

  "wrong edits are refused, and the cache is as before": async (hw) => {
    const cache = await holding(hw, { rotary: YARN }, TOKENS);
    const before = await cache.save();
    const unreadable = Object.defineProperty([0, 1], 1, {
      get: () => {
        throw new TypeError("not now");
      },
    });
    const refused: readonly [() => Promise<void>, string, string][] = [
      [() => cache.select([0, 1]), "ShapeError", "cache.select: indices must have one entry for each batch"],
      [() => cache.select([0, 3, 1]), "OptionError", "indices[1] must be an integer from 0 to 2, got 3"],
      [() => cache.select([0, -1, 1]), "OptionError", "indices[1] must be an integer from 0 to 2, got -1"],
      [() => cache.select([0, 0.5, 1]), "OptionError", "indices[1] must be an integer from 0 to 2, got 0.5"],
      [() => cache.select(undefined as never), "OptionError", "indices must be given"],
      [() => cache.keep(10, []), "OptionError", "cache.keep: from must be an integer from 0 to 9, got 10"],
      [() => cache.keep([9, 5, 0], []), "OptionError", "from[1] must be at most the tokens appended, got 5 and 4"],
      [() => cache.keep([9, 4], []), "ShapeError", "from must have length 3, got 2"],
      [
        () => cache.keep(3, [0, 1]),
        "OptionError",
        "rows must be below the 1 tokens that batch 1 holds from position 3",
      ],
      [() => cache.keep(0, [0, 0]), "OptionError", "rows must ascend, got 0 before 0 at rows[1]"],
      [() => cache.keep(0, [[0], [2, 1], []]), "OptionError", "rows[1] must ascend, got 2 before 1"],
      [() => cache.keep(0, [[0], [1]]), "ShapeError", "rows must have a list for each of 3 batches, got 2"],
      [() => cache.keep(0, [-1]), "OptionError", "rows[0] must be an integer of at least 0, got -1"],
      [() => cache.keep(0, undefined as never), "OptionError", "rows must be given"],
      [() => cache.keep(0, unreadable), "OptionError", "cache.keep: rows could not be read: not now"],
      [() => cache.remove(0, 10), "OptionError", "cache.remove: to must be an integer from 0 to 9, got 10"],
      [() => cache.remove(3, 2), "OptionError", "cache.remove: from must be at most to, got 3 and 2"],
      [() => cache.remove(0, undefined as never), "OptionError", "to must be given"],
      [() => cache.remove(0, null as never), "OptionError", "to must be an integer or a list of integers, got null"],
      [() => cache.keep(null as never, []), "OptionError", "from must be an integer or a list of integers, got null"],
    ];
    for (const [edit, name, words] of refused)
      await expect(edit()).rejects.toMatchObject({ name, message: expect.stringContaining(words) as unknown });
    expect(await cache.save()).toEqual(before);
    cache.dispose();
    for (const edit of [() => cache.select([0, 1, 2]), () => cache.keep(0, []), () => cache.remove(0, 1)])
      await expect(edit()).rejects.toMatchObject({ name: "DisposedError" });
  },
};
