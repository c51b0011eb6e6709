/**
 * Attention by its definition: four passes of plain loops in double precision, with every option and every output. Each
 * number comes with the largest error that a float32 engine may have. It is independent of the engine's C++ reference.
 *
 * Letters: b batch, h query head, g kv head, i query row, j key row, d feature.
 */

import type { AttentionOptions, FloatTensorLike, MaskLike } from "headwise";

import { keptShare } from "./dropout.js";
import { evaluator, exactly, truthOf, type Outcome, type Variables } from "./formulaReference.js";

export type Layout = "BHSD" | "BSHD" | "BSE" | "BES";

/** A tensor or a plain list. float16 is a Uint16Array of 16-bit patterns. */
export interface Input {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
  readonly dtype?: string | undefined;
}

type List = ArrayLike<number> | BigInt64Array | BigUint64Array | Input;

export interface ReferenceOptions {
  readonly layout?: Layout | undefined;
  /** Of key and value. Default: layout. */
  readonly kvLayout?: Layout | undefined;
  readonly numHeads?: number | undefined;
  readonly numKvHeads?: number | undefined;
  readonly scale?: number | undefined;
  readonly causal?: boolean | "upper-left" | "lower-right" | undefined;
  readonly queryOffset?: number | List | undefined;
  readonly window?: AttentionOptions["window"];
  /** Only tensors; plain arrays are not read here. */
  readonly mask?: MaskLike | undefined;
  readonly bias?: FloatTensorLike | null | undefined;
  readonly score?: AttentionOptions["score"];
  readonly visible?: AttentionOptions["visible"];
  readonly keyLengths?: List | undefined;
  readonly queryLengths?: List | undefined;
  readonly excludeSelf?: boolean | undefined;
  readonly softcap?: number | undefined;
  readonly alibiSlopes?: List | undefined;
  readonly sinks?: List | undefined;
  readonly headGain?: List | undefined;
  readonly dropout?: AttentionOptions["dropout"];
  readonly emptyRows?: "zero" | "nan" | "uniform" | "throw" | undefined;
  readonly cuSeqLensQuery?: List | undefined;
  readonly cuSeqLensKey?: List | undefined;
  /** How many times the engine has turned the rows of a product and rounded them. Here they were turned in double. */
  readonly turns?: number | undefined;
  /** The position of each key of a cache, [B][keys held]. Default: j itself. */
  readonly heldPositions?: readonly (readonly number[])[] | undefined;
  /** Where queries and keys stand for ALiBi, in place of their indices: [S], or [B, S]. */
  readonly positions?: AttentionOptions["positions"];
  readonly keyPositions?: AttentionOptions["keyPositions"];
}

/** Values, and the largest error of each that the error model allows. If it is Infinity, any value is right. */
export interface Expected {
  readonly values: Float64Array;
  readonly tolerance: Float64Array;
}

export interface ReferenceResult {
  readonly shape: Shape;
  /** In the layout of the call. */
  readonly output: Expected;
  /** [B, Hq, Sq, Skv], with dropout. */
  readonly probs: Expected;
  readonly raw: Expected;
  readonly softcapped: Expected;
  readonly biased: Expected;
  readonly formula: Expected;
  /** [B, Hq, Sq] */
  readonly lse: Expected;
  readonly entropy: Expected;
  /** [B, Hq, Sq]: how many keys each row sees. */
  readonly visibleKeys: Int32Array;
  /** [B, Hq, Sq, Skv]: 1 if the pair is visible. */
  readonly visiblePairs: Uint8Array;
  /** [B, Hq, Sq]: 1 if the error model does not say which keys of the row are visible, or nothing of their weights. */
  readonly openRows: Uint8Array;
}

export interface Shape {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
  readonly Dv: number;
}

// Looked up once: a test runner's sandbox is slow to find globals. In the inner loops that took ten times as long as
// the arithmetic.
const { abs, exp, floor, log, log2, max, sqrt, tanh } = Math;

/** Half the distance from 1 to the next float32. */
export const EPSILON = 2 ** -24;

/** A turned row is off by less than this many EPSILON of its length: cosines, sines, products and sums are rounded. */
const ROUNDED_TURN = 5;
/** Below this an engine may write zero. Smaller weights would make subnormal products, which processors are slow with. */
export const FLUSHED = 2 ** -114;

export function float16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

// by the tag, not by instanceof: the test runner may have arrays of another realm
function isFloat16Bits({ data }: Input): boolean {
  return (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] === "Uint16Array";
}

function isFloat16(input: Input): boolean {
  return input.dtype === "float16" || isFloat16Bits(input);
}

function numbers(input: Input): (index: number) => number {
  const { data } = input;
  return isFloat16Bits(input) ? (k) => float16ToNumber(data[k]!) : (k) => data[k]!;
}

function list(input: List | undefined): number[] | undefined {
  if (input === undefined) return undefined;
  return "shape" in input
    ? Array.from({ length: input.data.length }, (_, k) => numbers(input)(k))
    : Array.from(input as ArrayLike<number | bigint>, Number);
}

export interface Extents {
  readonly batch: number;
  readonly heads: number;
  readonly length: number;
  readonly dim: number;
}

function extents(shape: readonly number[], layout: Layout, heads: number | undefined): Extents {
  if (layout === "BSE" || layout === "BES") {
    const [batch, first, second] = shape.length === 3 ? shape : [1, ...shape];
    const [length, packed] = layout === "BSE" ? [first!, second!] : [second!, first!];
    return { batch: batch!, heads: heads ?? 1, length, dim: packed / (heads ?? 1) };
  }
  if (shape.length === 2) return { batch: 1, heads: 1, length: shape[0]!, dim: shape[1]! };
  const [batch, first, second, dim] = shape.length === 4 ? shape : [1, ...shape];
  const [H, S] = layout === "BHSD" ? [first!, second!] : [second!, first!];
  return { batch: batch!, heads: H, length: S, dim: dim! };
}

function elementIndex(
  layout: Layout,
  { heads, length, dim }: Extents,
  b: number,
  h: number,
  s: number,
  d: number,
): number {
  switch (layout) {
    case "BHSD":
      return ((b * heads + h) * length + s) * dim + d;
    case "BSHD":
    case "BSE":
      return ((b * length + s) * heads + h) * dim + d;
    case "BES":
      return ((b * heads + h) * dim + d) * length + s;
  }
}

/** The index in an array that broadcasts from the right to [B, Hq, Sq, Skv]. */
export function broadcastIndex(given: readonly number[]): (b: number, h: number, i: number, j: number) => number {
  const shape = [...Array<number>(4 - given.length).fill(1), ...given];
  const [B, H, I, J] = shape.map((extent, axis) =>
    extent === 1 ? 0 : shape.slice(axis + 1).reduce((product, inner) => product * inner, 1),
  ) as [number, number, number, number];
  return (b, h, i, j) => b * B + h * H + i * I + j * J;
}

/** Reads an array that broadcasts from the right to [B, Hq, Sq, Skv]. */
function broadcast(input: Input | undefined, absent: number): (b: number, h: number, i: number, j: number) => number {
  if (!input) return () => absent;
  const [at, index] = [numbers(input), broadcastIndex(input.shape)];
  return (b, h, i, j) => at(index(b, h, i, j));
}

/** Query and key rows that belong together: a batch, or one sequence of a ragged batch. */
export interface Sequence {
  readonly batch: number;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly queryLength: number;
  readonly keyLength: number;
  readonly offset: number;
}

export function sequences({ B, Sq, Skv }: Shape, options: ReferenceOptions): Sequence[] {
  const cuQuery = list(options.cuSeqLensQuery);
  const cuKey = list(options.cuSeqLensKey);
  const queryLengths = list(options.queryLengths);
  const keyLengths = list(options.keyLengths);
  const count = cuQuery ? cuQuery.length - 1 : B;
  const given = typeof options.queryOffset === "number" ? [options.queryOffset] : list(options.queryOffset);
  const lowerRight = options.causal === true || options.causal === "lower-right";
  return Array.from({ length: count }, (_, n) => {
    const queryStart = cuQuery?.[n] ?? 0;
    const queryEnd = cuQuery?.[n + 1] ?? Sq;
    const keyStart = cuKey?.[n] ?? 0;
    const keyEnd = cuKey?.[n + 1] ?? Skv;
    const queryLength = queryLengths?.[n] ?? queryEnd - queryStart;
    const keyLength = keyLengths?.[n] ?? keyEnd - keyStart;
    const offset = given ? (given.length === 1 ? given[0]! : given[n]!) : lowerRight ? keyLength - queryLength : 0;
    return { batch: cuQuery ? 0 : n, queryStart, queryEnd, keyStart, keyEnd, queryLength, keyLength, offset };
  });
}

function expected(length: number, fill = 0): Expected {
  return { values: new Float64Array(length).fill(fill), tolerance: new Float64Array(length) };
}

/**
 * Scores before masks. No pass computes pairs of two different sequences of a ragged batch, so they may have any value.
 */
function unstated(length: number): Expected {
  return { values: new Float64Array(length), tolerance: new Float64Array(length).fill(Infinity) };
}

/** A tensor of heads in double precision, as [B, H, S, D]. */
export interface Heads extends Extents {
  readonly data: Float64Array;
}

export function readHeads(input: Input, layout: Layout, extents: Extents): Heads {
  const at = numbers(input);
  const { batch, heads, length, dim } = extents;
  const data = new Float64Array(batch * heads * length * dim);
  let k = 0;
  for (let b = 0; b < batch; ++b)
    for (let h = 0; h < heads; ++h)
      for (let s = 0; s < length; ++s)
        for (let d = 0; d < dim; ++d) data[k++] = at(elementIndex(layout, extents, b, h, s, d));
  return { ...extents, data };
}

/** The index of the first feature of a position of a head. */
export function rowStart({ heads, length, dim }: Heads, b: number, h: number, s: number): number {
  return ((b * heads + h) * length + s) * dim;
}

/** The call with all defaults. */
export interface Problem {
  readonly shape: Shape;
  readonly q: Heads;
  readonly k: Heads;
  readonly v: Heads;
  readonly outputExtents: Extents;
  readonly outputIndex: (b: number, h: number, i: number, d: number) => number;
  readonly queryIndex: Problem["outputIndex"];
  readonly keyIndex: Problem["outputIndex"];
  readonly valueIndex: Problem["outputIndex"];
  readonly mask: (b: number, h: number, i: number, j: number) => number;
  readonly bias: (b: number, h: number, i: number, j: number) => number;
  readonly scale: number;
  readonly softcap: number;
  readonly slope: (h: number) => number;
  readonly sink: (h: number) => number;
  readonly gain: (h: number) => number;
  readonly storedAsFloat16: boolean;
  readonly score: ((variables: Variables) => Outcome) | undefined;
  readonly visible: ((variables: Variables) => Outcome) | undefined;
  readonly options: ReferenceOptions;
}

export function read(query: Input, key: Input, value: Input, options: ReferenceOptions): Problem {
  const layout = options.layout ?? "BHSD";
  const kvLayout = options.kvLayout ?? layout;
  const numKvHeads = options.numKvHeads ?? options.numHeads;
  const Q = extents(query.shape, layout, options.numHeads);
  const K = extents(key.shape, kvLayout, numKvHeads);
  const V = extents(value.shape, kvLayout, numKvHeads);
  const O = { ...Q, dim: V.dim };
  const indexIn = (order: Layout, of: Extents) => (b: number, h: number, s: number, d: number) =>
    elementIndex(order, of, b, h, s, d);
  const perHead = (values: List | undefined, absent: number) => {
    const all = list(values);
    return (h: number) => all?.[h] ?? absent;
  };
  return {
    shape: { B: Q.batch, Hq: Q.heads, Hkv: K.heads, Sq: Q.length, Skv: K.length, D: Q.dim, Dv: V.dim },
    q: readHeads(query, layout, Q),
    k: readHeads(key, kvLayout, K),
    v: readHeads(value, kvLayout, V),
    outputExtents: O,
    outputIndex: indexIn(layout, O),
    queryIndex: indexIn(layout, Q),
    keyIndex: indexIn(kvLayout, K),
    valueIndex: indexIn(kvLayout, V),
    mask: broadcast(options.mask as Input | undefined, 1),
    bias: broadcast(options.bias as Input | undefined, 0),
    scale: options.scale ?? 1 / sqrt(Q.dim),
    softcap: options.softcap ?? 0,
    slope: perHead(options.alibiSlopes, 0),
    sink: perHead(options.sinks, -Infinity),
    gain: perHead(options.headGain, 1),
    storedAsFloat16: isFloat16(query),
    score: options.score && evaluator(options.score),
    visible: options.visible && evaluator(options.visible),
    options,
  };
}

/** One query row of one head. `n` is the number of its sequence. `i` is its index in the whole batch, `localRow` its index in its sequence. */
export interface Row {
  readonly sequence: Sequence;
  readonly n: number;
  readonly h: number;
  readonly i: number;
  readonly localRow: number;
  readonly index: number;
}

export function referenceAttention(
  query: Input,
  key: Input,
  value: Input,
  options: ReferenceOptions = {},
): ReferenceResult {
  const problem = read(query, key, value, options);
  const { B, Hq, Sq, Skv, Dv } = problem.shape;
  const result: ReferenceResult = {
    shape: problem.shape,
    output: expected(B * Hq * Sq * Dv),
    probs: expected(B * Hq * Sq * Skv),
    raw: unstated(B * Hq * Sq * Skv),
    softcapped: unstated(B * Hq * Sq * Skv),
    biased: expected(B * Hq * Sq * Skv, -Infinity),
    formula: expected(B * Hq * Sq * Skv, -Infinity),
    lse: expected(B * Hq * Sq, -Infinity),
    entropy: expected(B * Hq * Sq),
    visibleKeys: new Int32Array(B * Hq * Sq),
    visiblePairs: new Uint8Array(B * Hq * Sq * Skv),
    openRows: new Uint8Array(B * Hq * Sq),
  };
  for (const row of rowsOf(problem)) {
    const { index } = row;
    scores(problem, row, result);
    const visible = visibleScores(problem, row, result);
    result.visibleKeys[index] = visible.length;
    for (const j of visible) result.visiblePairs[index * Skv + j] = 1;
    if (visible.length > 0) softmax(problem, row, visible, result);
    else emptyRow(problem, row, result);
    if (result.openRows[index]) openRow(problem, row, result);
  }
  return result;
}

/** Every query row of every head. */
export function* rowsOf({ shape, options }: Problem): Generator<Row> {
  for (const [n, sequence] of sequences(shape, options).entries())
    for (let h = 0; h < shape.Hq; ++h)
      for (let i = sequence.queryStart; i < sequence.queryEnd; ++i) {
        const index = (sequence.batch * shape.Hq + h) * shape.Sq + i;
        yield { sequence, n, h, i, localRow: i - sequence.queryStart, index };
      }
}

/** Pass 1: the raw and the softcapped score of every pair, visible or not. */
function scores(
  { shape, q, k, scale, softcap, options }: Problem,
  row: Row,
  { raw, softcapped }: ReferenceResult,
): void {
  const { batch: b, keyStart, keyEnd } = row.sequence;
  const g = floor(row.h / (shape.Hq / shape.Hkv));
  const queryRow = rowStart(q, b, row.h, row.i);
  for (let j = keyStart; j < keyEnd; ++j) {
    const at = row.index * shape.Skv + j;
    const keyRow = rowStart(k, b, g, j);
    let dot = 0;
    let magnitude = 0;
    let [query2, key2] = [0, 0];
    for (let d = 0; d < shape.D; ++d) {
      const x = q.data[queryRow + d]!;
      const y = k.data[keyRow + d]!;
      dot += x * y;
      magnitude += abs(x * y);
      query2 += x * x;
      key2 += y * y;
    }
    const turning = (options.turns ?? 0) * ROUNDED_TURN * sqrt(query2 * key2);
    const s = scale * dot;
    raw.values[at] = s;
    raw.tolerance[at] = ((4 + shape.D / 4) * magnitude + turning) * EPSILON * abs(scale) + FLUSHED;
    const capped = softcap > 0 ? softcap * tanh(s / softcap) : s;
    softcapped.values[at] = capped;
    // the slope of tanh is at most 1, so the error does not grow; tanh itself and the product are rounded
    softcapped.tolerance[at] = raw.tolerance[at] + (softcap > 0 ? 4 * EPSILON * abs(capped) : 0);
  }
}

/** Pass 2: the visible keys of the row, and their scores after ALiBi, bias and the formula. */
function visibleScores(problem: Problem, row: Row, result: ReferenceResult): number[] {
  const { softcapped, biased, formula } = result;
  const { shape, slope, bias, options } = problem;
  const { batch: b, keyStart, keyEnd, offset } = row.sequence;
  const visible: number[] = [];
  for (let j = keyStart; j < keyEnd; ++j) {
    const distance = (options.heldPositions?.[b]?.[j] ?? j - keyStart) - (row.localRow + offset);
    if (!isVisible(problem, row, j, distance)) continue;
    const isSeen = !problem.visible || truthOf(problem.visible(variables(problem, row, j, distance)));
    if (isSeen === false) continue;
    const at = row.index * shape.Skv + j;
    const slide = slope(row.h) * alibiDistance(problem, row, j, distance);
    const added = bias(b, row.h, row.i, j);
    const sloped = softcapped.values[at]! - slide;
    biased.values[at] = sloped + added;
    // each added term rounds the sum once more; the product of ALiBi is rounded too
    const alibiError = options.alibiSlopes ? EPSILON * (abs(slide) + abs(sloped)) : 0;
    const biasError = options.bias ? EPSILON * abs(sloped + added) : 0;
    biased.tolerance[at] = softcapped.tolerance[at]! + alibiError + biasError;
    if (isSeen === undefined) {
      result.openRows[row.index] = 1;
      biased.tolerance[at] = formula.tolerance[at] = Infinity;
      continue;
    }
    formula.values[at] = biased.values[at]!;
    formula.tolerance[at] = biased.tolerance[at];
    if (problem.score) changeScore(problem, row, j, distance, result);
    if (formula.values[at] !== -Infinity || !problem.score) visible.push(j);
  }
  return visible;
}

/** What ALiBi multiplies by the slope. */
export function alibiDistance({ shape, options }: Problem, row: Row, j: number, distance: number): number {
  const { positions, keyPositions } = options;
  if (!positions || !keyPositions) return abs(distance);
  const { batch } = row.sequence;
  return abs(givenAt(positions, batch * shape.Sq + row.i) - givenAt(keyPositions, batch * shape.Skv + j));
}

function givenAt(positions: NonNullable<AttentionOptions["positions"]>, n: number): number {
  const list = (typeof positions === "object" && "data" in positions ? positions.data : positions) as ArrayLike<number>;
  return Number(list[n % list.length]);
}

/** The score after the formula. If the error model leaves open what it is, so are the row's results. */
function changeScore(problem: Problem, row: Row, j: number, distance: number, result: ReferenceResult): void {
  const { biased, formula, openRows } = result;
  const at = row.index * problem.shape.Skv + j;
  const value = biased.values[at]!;
  const error = biased.tolerance[at]!;
  const s: Outcome = Number.isFinite(value)
    ? { low: value - error, high: value + error, nan: "never" }
    : exactly(value);
  const { low, high, nan } = problem.score!({ ...variables(problem, row, j, distance), s });
  if (nan === "always") formula.values[at] = NaN;
  else if (nan === "never" && (Number.isFinite(low) ? Number.isFinite(high) : low === high)) {
    formula.values[at] = low === high ? low : (low + high) / 2;
    // the ends themselves must lie within it, also after the subtraction
    formula.tolerance[at] = low === high ? 0 : ((high - low) / 2) * (1 + 2 ** -30) + abs(high + low) * 2 ** -50;
  } else {
    openRows[row.index] = 1;
    formula.tolerance[at] = Infinity;
  }
}

/** What a formula can read at a pair, except for the score. */
export function variables({ shape, options }: Problem, row: Row, j: number, distance: number): Variables {
  const { sequence, n, h, localRow } = row;
  const { queryStart, queryEnd, keyStart, keyEnd, offset } = sequence;
  const held = options.heldPositions?.[sequence.batch]?.length ?? keyEnd - keyStart;
  return {
    q: exactly(localRow + offset),
    k: exactly(distance + localRow + offset),
    i: exactly(localRow),
    j: exactly(j - keyStart),
    h: exactly(h),
    g: exactly(floor(h / (shape.Hq / shape.Hkv))),
    b: exactly(n),
    Sq: exactly(queryEnd - queryStart),
    Skv: exactly(held),
    D: exactly(shape.D),
  };
}

/** A row of which the error model says nothing more than its scores. */
function openRow({ shape, outputIndex }: Problem, { sequence, index, h, i }: Row, result: ReferenceResult): void {
  const { output, probs, lse, entropy } = result;
  probs.tolerance.fill(Infinity, index * shape.Skv, (index + 1) * shape.Skv);
  lse.tolerance[index] = entropy.tolerance[index] = Infinity;
  for (let d = 0; d < shape.Dv; ++d) output.tolerance[outputIndex(sequence.batch, h, i, d)] = Infinity;
}

function isVisible({ mask, bias, options }: Problem, row: Row, j: number, distance: number): boolean {
  const { batch: b, keyStart, keyLength, queryLength } = row.sequence;
  return (
    mask(b, row.h, row.i, j) !== 0 &&
    bias(b, row.h, row.i, j) !== -Infinity &&
    j - keyStart < keyLength &&
    row.localRow < queryLength &&
    (!options.causal || distance <= 0) &&
    distance >= -(options.window?.left ?? Infinity) &&
    distance <= (options.window?.right ?? Infinity) &&
    !(options.excludeSelf && distance === 0)
  );
}

/** Pass 3: softmax over the visible keys, with the sink in the denominator. */
function softmax(problem: Problem, row: Row, visible: readonly number[], result: ReferenceResult): void {
  const { probs, formula, lse } = result;
  const sink = problem.sink(row.h);
  const at = (j: number) => row.index * problem.shape.Skv + j;
  const scoreOf = (j: number) => formula.values[at(j)]!;
  const errorOf = (j: number) => formula.tolerance[at(j)]!;
  const { highest, sum } = sumOfExp(visible, scoreOf, sink);
  const total = highest + log(sum);
  for (const j of visible) probs.values[at(j)] = exp(scoreOf(j) - highest) / sum;
  lse.values[row.index] = total;
  const most = sumOfExp(visible, (j) => scoreOf(j) + errorOf(j), sink);
  const least = sumOfExp(visible, (j) => scoreOf(j) - errorOf(j), sink);
  const sumError = max(most.highest + log(most.sum) - total, total - least.highest - log(least.sum));
  // the weights of keys are unknown if their sum may err by a factor of e
  if (sumError > 1 || visible.some((j) => errorOf(j) === Infinity)) result.openRows[row.index] = 1;
  lse.tolerance[row.index] = sumError + 16 * EPSILON * (1 + abs(total));
  const weightError = (j: number) => {
    const p = probs.values[at(j)]!;
    return exp(scoreOf(j) - total + errorOf(j) + sumError) - p + 16 * EPSILON * p;
  };
  weightedMean(problem, row, visible, weightError, result, (j) => shareOf(problem, row, j));
}

/** What dropout multiplies the weight of key j by. */
export function shareOf({ options }: Pick<Problem, "options">, { sequence, n, h, localRow }: Row, j: number): number {
  return options.dropout ? keptShare(options.dropout, n, h, localRow, j - sequence.keyStart) : 1;
}

/** Σ exp(score) + exp(sink) = exp(highest) · sum */
function sumOfExp(
  keys: readonly number[],
  scoreOf: (j: number) => number,
  sink: number,
): { readonly highest: number; readonly sum: number } {
  let highest = sink;
  for (const j of keys) highest = max(highest, scoreOf(j));
  let sum = exp(sink - highest);
  for (const j of keys) sum += exp(scoreOf(j) - highest);
  return { highest, sum };
}

/** Pass 4: the mean of the values, weighted by the probabilities; and the entropy of the row. */
function weightedMean(
  { shape, v, gain, outputIndex, storedAsFloat16 }: Problem,
  row: Row,
  keys: readonly number[],
  weightError: (j: number) => number,
  { output, probs, entropy }: ReferenceResult,
  share: (j: number) => number = () => 1,
): void {
  const b = row.sequence.batch;
  const g = floor(row.h / (shape.Hq / shape.Hkv));
  for (const j of keys) {
    const at = row.index * shape.Skv + j;
    const p = probs.values[at]!;
    probs.tolerance[at] = weightError(j) + FLUSHED;
    if (p === 0) continue;
    entropy.values[row.index]! -= p * log(p);
    entropy.tolerance[row.index]! += weightError(j) * (1 + abs(log(p)));
  }
  entropy.tolerance[row.index]! += FLUSHED;
  for (const j of keys) {
    probs.values[row.index * shape.Skv + j]! *= share(j);
    probs.tolerance[row.index * shape.Skv + j]! *= share(j);
  }
  const { values, tolerance } = probs;
  const [first, firstValue] = [row.index * shape.Skv, rowStart(v, b, g, 0)];
  for (let d = 0; d < shape.Dv; ++d) {
    let sum = 0;
    let error = 0;
    for (const j of keys) {
      const x = v.data[firstValue + j * v.dim + d]!;
      sum += values[first + j]! * x;
      error += tolerance[first + j]! * abs(x);
    }
    const at = outputIndex(b, row.h, row.i, d);
    const factor = gain(row.h);
    output.values[at] = factor === 0 ? 0 : factor * sum;
    output.tolerance[at] = abs(factor) * error + FLUSHED;
    if (storedAsFloat16) output.tolerance[at] += float16Ulp(output.values[at]);
  }
}

/** A row that sees no key: sets every output as emptyRows says. Padding rows stay zero. */
function emptyRow(problem: Problem, row: Row, result: ReferenceResult): void {
  const { sequence, index, h, i, localRow } = row;
  if (localRow >= sequence.queryLength) return;
  const { probs, lse, entropy, output } = result;
  const firstProb = index * problem.shape.Skv + sequence.keyStart;
  const policy = problem.options.emptyRows ?? "zero";
  if (policy === "throw") throw new Error(`row ${i} of head ${h} in batch ${sequence.batch} sees no key`);
  if (policy === "uniform" && sequence.keyLength > 0) {
    probs.values.fill(1 / sequence.keyLength, firstProb, firstProb + sequence.keyLength);
    const keys = range(sequence.keyStart, sequence.keyStart + sequence.keyLength);
    weightedMean(problem, row, keys, () => (16 * EPSILON) / sequence.keyLength, result);
    return;
  }
  lse.values[index] = problem.sink(h);
  if (policy !== "nan") return;
  entropy.values[index] = NaN;
  const keysHeld = problem.options.heldPositions?.[sequence.batch]?.length ?? sequence.keyEnd - sequence.keyStart;
  probs.values.fill(NaN, firstProb, firstProb + keysHeld);
  if (problem.gain(h) === 0) return;
  for (let d = 0; d < problem.shape.Dv; ++d) output.values[problem.outputIndex(sequence.batch, h, i, d)] = NaN;
}

function meanOf(rows: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(rows[0]!.length);
  for (const row of rows) for (let j = 0; j < sum.length; ++j) sum[j]! += row[j]!;
  return sum.map((x) => x / rows.length);
}

function joined(rows: readonly Float64Array[], length: number): Float64Array {
  const all = new Float64Array(rows.length * length);
  for (const [n, row] of rows.entries()) all.set(row, n * length);
  return all;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, k) => start + k);
}

/** The distance between neighbouring float16 numbers near x. */
function float16Ulp(x: number): number {
  return 2 ** max(-24, floor(log2(abs(x))) - 10);
}

/** The chosen heads and query rows of a dense [B, Hq, Sq, Skv] array. `average` replaces the heads by their mean. */
export function select(
  { values, tolerance }: Expected,
  { B, Hq, Sq, Skv }: Shape,
  choice: { heads?: readonly number[]; queries?: readonly number[]; average?: boolean },
): Expected {
  const heads = choice.heads ?? range(0, Hq);
  const queries = choice.queries ?? range(0, Sq);
  const chosen = (from: Float64Array) => {
    const rowOf = (b: number, h: number, i: number) => from.subarray(((b * Hq + h) * Sq + i) * Skv).subarray(0, Skv);
    return range(0, B).flatMap((b) =>
      choice.average
        ? queries.map((i) => meanOf(heads.map((h) => rowOf(b, h, i))))
        : heads.flatMap((h) => queries.map((i) => rowOf(b, h, i))),
    );
  };
  const pick = (from: Float64Array) => joined(chosen(from), Skv);
  const picked = { values: pick(values), tolerance: pick(tolerance) };
  // the sum of n numbers and its division by n are rounded n + 1 times at most
  if (choice.average)
    picked.values.forEach((mean, k) => (picked.tolerance[k]! += (heads.length + 1) * EPSILON * abs(mean)));
  return picked;
}
