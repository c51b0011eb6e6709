/**
 * The usual formulas, and for each one what it must equal: options of headwise, or a dense mask or bias. Tests of every
 * engine and of the lab use this table.
 */

import { alibiSlopes, type AttentionOptions } from "headwise";
import { formula } from "headwise/formula";

/** The extents of the calls of the table. */
export interface TableShape {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly Skv: number;
}

/** Options of a call whose results lie in JavaScript. */
type Options = Omit<AttentionOptions, "location" | "into">;

export interface StandardFormula {
  readonly name: string;
  /** The options with a formula. */
  readonly options: Options;
  /** Options without formulas that give the same. */
  readonly same: Options;
}

type Pair = (b: number, h: number, i: number, j: number) => number | boolean;

/** A dense tensor [B, Hq, Sq, Skv] of the values at each pair. */
function dense({ B, Hq, Sq, Skv }: TableShape, at: Pair): { data: number[]; shape: number[] } {
  const data: number[] = [];
  for (let b = 0; b < B; ++b)
    for (let h = 0; h < Hq; ++h)
      for (let i = 0; i < Sq; ++i) for (let j = 0; j < Skv; ++j) data.push(Number(at(b, h, i, j)));
  return { data, shape: [B, Hq, Sq, Skv] };
}

/** The bucket of a distance in T5 (Raffel et al. 2020), for queries that see both sides. */
function bucketOf(distance: number, numBuckets: number, maxDistance: number): number {
  const half = numBuckets / 2;
  const side = distance > 0 ? half : 0;
  const far = Math.abs(distance);
  const exact = half / 2;
  if (far < exact) return side + far;
  const log = Math.floor((Math.log(far / exact) / Math.log(maxDistance / exact)) * (half - exact));
  return side + Math.min(exact + log, half - 1);
}

/**
 * The table for calls of one shape. Queries stand at the end of the keys: row i is at position i + Skv − Sq, which all
 * calls give as queryOffset.
 */
export function standardFormulas(shape: TableShape): StandardFormula[] {
  const { B, Hq, Hkv, Sq, Skv } = shape;
  const queryOffset = Skv - Sq;
  const last = Math.max(Sq + queryOffset, Skv);
  const mask = (at: Pair) => {
    const { data, shape: extents } = dense(shape, at);
    return { mask: { data: Uint8Array.from(data), shape: extents } };
  };
  const bias = (at: Pair) => {
    const { data, shape: extents } = dense(shape, at);
    return { bias: { data: Float32Array.from(data), shape: extents } };
  };
  const entry = (name: string, options: Options, same: Options): StandardFormula => ({
    name,
    options: { queryOffset, ...options },
    same: { queryOffset, ...same },
  });

  const q = (i: number) => i + queryOffset;
  const slope = alibiSlopes(Hq);
  const lengths = Int32Array.from({ length: B }, (_, b) => Math.max(0, Skv - 3 * b - 1));
  const doc = Int32Array.from({ length: last }, (_, position) => Math.floor(position / 7));
  const prefix = Int32Array.from({ length: B }, (_, b) => 3 + 2 * b);
  const reach = Float32Array.from({ length: Hq }, (_, h) => 2 ** h);
  const table = Array.from({ length: Hq }, (_, h) => Array.from({ length: 32 }, (_, n) => Math.sin(h + n)));
  const buckets = Int32Array.from({ length: 2 * last + 1 }, (_, n) => bucketOf(n - last, 32, 64));
  const pairs = Array.from({ length: Sq }, (_, i) => Array.from({ length: Skv }, (_, j) => Math.cos(3 * i + j)));
  const width = 5;
  const visible = (text: string, parameters: Parameters<typeof formula>[1] = {}) => ({
    visible: formula(text, parameters),
  });
  const score = (text: string, parameters: Parameters<typeof formula>[1] = {}) => ({
    score: formula(text, parameters),
  });

  return [
    entry("causal", visible("k <= q"), { causal: true }),
    entry("causal, turned round", visible("!(q < k)"), { causal: true }),
    entry("causal in the score", score("k <= q ? s : -Infinity"), { causal: true }),
    entry("window", visible("q - k <= left && k - q <= right", { left: 4, right: 2 }), {
      window: { left: 4, right: 2 },
    }),
    entry("symmetric window", visible("abs(q - k) <= width", { width: 3 }), { window: { left: 3, right: 3 } }),
    entry("sliding window", visible("k <= q && q - k < width", { width: 6 }), { causal: true, window: { left: 5 } }),
    entry("ALiBi", score("s - slope[h] * abs(q - k)", { slope }), { alibiSlopes: slope }),
    entry("softcap", score("cap * tanh(s / cap)", { cap: 2 }), { softcap: 2 }),
    entry("excludeSelf", visible("q != k"), { excludeSelf: true }),
    entry("key lengths", visible("j < length[b]", { length: lengths }), { keyLengths: lengths }),
    entry(
      "documents",
      visible("doc[q] == doc[k]", { doc }),
      mask((_, __, i, j) => doc[q(i)] === doc[j]),
    ),
    entry(
      "documents, causal",
      visible("doc[q] == doc[k] && k <= q", { doc }),
      mask((_, __, i, j) => doc[q(i)] === doc[j] && j <= q(i)),
    ),
    entry(
      "prefix-LM",
      visible("k <= q || k < prefix[b]", { prefix }),
      mask((b, _, i, j) => j <= q(i) || j < prefix[b]!),
    ),
    entry(
      "sliding window with attention sinks",
      visible("k <= q && (q - k < width || k < first)", { width: 5, first: 2 }),
      mask((_, __, i, j) => j <= q(i) && (q(i) - j < 5 || j < 2)),
    ),
    entry(
      "dilated window",
      visible("abs(q - k) <= 12 && (q - k) % 3 == 0"),
      mask((_, __, i, j) => Math.abs(q(i) - j) <= 12 && (q(i) - j) % 3 === 0),
    ),
    entry(
      "strided",
      visible("k <= q && (q - k < stride || k % stride == stride - 1)", { stride: 4 }),
      mask((_, __, i, j) => j <= q(i) && (q(i) - j < 4 || j % 4 === 3)),
    ),
    entry(
      "blocks",
      visible("floor(q / size) == floor(k / size)", { size: 6 }),
      mask((_, __, i, j) => Math.floor(q(i) / 6) === Math.floor(j / 6)),
    ),
    entry(
      "windows of their own for each head",
      visible("abs(q - k) <= reach[h]", { reach }),
      mask((_, h, i, j) => Math.abs(q(i) - j) <= reach[h]!),
    ),
    entry(
      "some heads causal",
      visible("h % 2 == 0 || k <= q"),
      mask((_, h, i, j) => h % 2 === 0 || j <= q(i)),
    ),
    entry(
      "groups",
      visible("g == 0 || k <= q"),
      mask((_, h, i, j) => h < Hq / Hkv || j <= q(i)),
    ),
    entry(
      "T5 buckets",
      score("s + table[h][bucket[k - q + last]]", { table, bucket: buckets, last }),
      bias((_, h, i, j) => table[h]![bucketOf(j - q(i), 32, 64)]!),
    ),
    entry(
      "2-D neighbourhood",
      visible("abs(floor(q / width) - floor(k / width)) <= 1 && abs(q % width - k % width) <= 1", { width }),
      mask((_, __, i, j) => {
        const [y, x] = [Math.floor(q(i) / width) - Math.floor(j / width), (q(i) % width) - (j % width)];
        return Math.abs(y) <= 1 && Math.abs(x) <= 1;
      }),
    ),
    entry(
      "a bias of pairs",
      score("s + pairs[i][j]", { pairs }),
      bias((_, __, i, j) => pairs[i]![j]!),
    ),
    entry(
      "a mask of pairs",
      visible("pairs[i][j] > 0", { pairs }),
      mask((_, __, i, j) => pairs[i]![j]! > 0),
    ),
    entry(
      "random keys",
      visible("sin(12 * k + q) > 0.1"),
      mask((_, __, i, j) => Math.sin(12 * j + q(i)) > 0.1),
    ),
    entry(
      "no pair",
      visible("false"),
      mask(() => false),
    ),
    entry("all pairs", visible("true"), {}),
  ];
}
