/**
 * The gradients of attention by their formulas: plain loops in double precision over the calls that reference.ts reads.
 * Each number comes with the largest error that a float32 engine may have, if it gets the forward's float32 results.
 *
 * Letters as in reference.ts: b batch, h query head, g kv head, i query row, j key row, d feature. With the loss L:
 *
 *     δ_i   = dO_i · O_i − dLse_i                     dLse: of a loss that reads lse
 *     ds_ij = p_ij (gain_h r_ij dO_i · v_j − δ_i)     dL/d(score before the softmax); Dao et al. 2022, appendix B
 *                                                     r: what dropout multiplies the weight by; 1 without
 */

import { gradientEvaluator, isStated, type Dual } from "./formulaGradients.js";
import { exactly, type Outcome, type Variables } from "./formulaReference.js";
import {
  alibiDistance,
  broadcastIndex,
  EPSILON,
  FLUSHED,
  read,
  readHeads,
  referenceAttention,
  rowsOf,
  rowStart,
  shareOf,
  variables,
  type Expected,
  type Heads,
  type Input,
  type Problem,
  type ReferenceOptions,
  type ReferenceResult,
  type Row,
} from "./reference.js";

/** Gradients in the layouts, shapes and orders of what they belong to. */
export interface ReferenceGradients {
  /** The forward's results, which the call gets as `output` and `lse`. */
  readonly forward: ReferenceResult;
  readonly dQuery: Expected;
  readonly dKey: Expected;
  readonly dValue: Expected;
  /** In the bias's own shape; empty without one. */
  readonly dBias: Expected;
  /** `[Hq]`, and so are the next two. */
  readonly dSinks: Expected;
  readonly dHeadGain: Expected;
  readonly dAlibiSlopes: Expected;
  /** Of each parameter of the score formula. */
  readonly dTables: Readonly<Record<string, Expected>>;
}

const { abs, exp, expm1, min, sqrt } = Math;

/** Sums of products, with what is known of their errors. */
class Sums {
  readonly #values: Float64Array;
  readonly #errors: Float64Array;
  readonly #magnitudes: Float64Array;
  readonly #counts: Float64Array;

  constructor(length: number) {
    [this.#values, this.#errors, this.#magnitudes, this.#counts] = Array.from(
      { length: 4 },
      () => new Float64Array(length),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  }

  /** Adds a · b, where `error` is the largest error of a. b is exact. */
  add(at: number, a: number, b: number, error: number): void {
    this.#values[at]! += a * b;
    this.#magnitudes[at]! += abs(a * b);
    this.#errors[at]! += error * abs(b) + FLUSHED;
    this.#counts[at]! += 1;
  }

  /** Adds a · b for each b of a row. `at` and `next` are the places of the first two. */
  addProducts(
    at: number,
    next: number,
    a: number,
    error: number,
    from: Float64Array,
    start: number,
    length: number,
  ): void {
    const [values, magnitudes, errors, counts] = [this.#values, this.#magnitudes, this.#errors, this.#counts];
    for (let d = 0; d < length; ++d) {
      const place = at + d * (next - at);
      const b = from[start + d]!;
      values[place]! += a * b;
      magnitudes[place]! += abs(a * b);
      errors[place]! += error * abs(b) + FLUSHED;
      counts[place]! += 1;
    }
  }

  /** An engine may give anything here. */
  open(at: number): void {
    this.#errors[at] = Infinity;
  }

  openAll(): void {
    this.#errors.fill(Infinity);
  }

  /** The values, times a factor. Sums of n numbers are rounded n times, mostly to both sides, and in several lanes. */
  expected(factor = 1): Expected {
    const values = this.#values.map((sum) => sum * factor);
    const tolerance = this.#errors.map((error, at) => {
      const count = this.#counts[at]!;
      const rounding = (16 + min(count / 4, 4 * sqrt(count))) * EPSILON * this.#magnitudes[at]!;
      const all = abs(factor) * (error + rounding) + FLUSHED;
      // the tolerance of NaN is 0: it must be NaN
      return Number.isNaN(all) ? (Number.isNaN(values[at]) ? 0 : Infinity) : all;
    });
    return { values, tolerance };
  }
}

/** A number, and its largest error. */
interface Rough {
  readonly value: number;
  readonly error: number;
}

function dot(a: Heads, aStart: number, b: Heads, bStart: number): Rough {
  let value = 0;
  let magnitude = 0;
  for (let d = 0; d < a.dim; ++d) {
    const product = a.data[aStart + d]! * b.data[bStart + d]!;
    value += product;
    magnitude += abs(product);
  }
  return { value, error: (4 + a.dim / 4) * EPSILON * magnitude + FLUSHED };
}

interface All {
  readonly problem: Problem;
  readonly forward: ReferenceResult;
  readonly dOutput: Heads;
  /** [B, Hq, Sq]; undefined: 0. */
  readonly dLse: Input | undefined;
  readonly biasIndex: (b: number, h: number, i: number, j: number) => number;
  readonly derivatives: ((variables: Variables) => Dual) | undefined;
  readonly dQuery: Sums;
  readonly dKey: Sums;
  readonly dValue: Sums;
  readonly dBias: Sums;
  readonly dSinks: Sums;
  readonly dHeadGain: Sums;
  readonly dAlibiSlopes: Sums;
  readonly dTables: Readonly<Record<string, Sums>>;
}

export function referenceBackward(
  query: Input,
  key: Input,
  value: Input,
  dOutput: Input,
  options: ReferenceOptions = {},
  dLse?: Input,
): ReferenceGradients {
  const problem = read(query, key, value, options);
  const { Hq } = problem.shape;
  const sumsLike = (given: Input | null | undefined) => new Sums(given?.data.length ?? 0);
  const { score } = options;
  const all: All = {
    problem,
    forward: referenceAttention(query, key, value, options),
    dOutput: readHeads(dOutput, options.layout ?? "BHSD", problem.outputExtents),
    dLse,
    biasIndex: broadcastIndex((options.bias as Input | undefined)?.shape ?? []),
    derivatives: score && gradientEvaluator(score),
    dQuery: sumsLike(query),
    dKey: sumsLike(key),
    dValue: sumsLike(value),
    dBias: sumsLike(options.bias as Input | undefined),
    dSinks: new Sums(Hq),
    dHeadGain: new Sums(Hq),
    dAlibiSlopes: new Sums(Hq),
    dTables: Object.fromEntries(
      score?.graph.parameters.map(({ name }, slot) => {
        const given = score.values[slot]!;
        return [name, new Sums(typeof given === "number" ? 1 : given.data.length)];
      }) ?? [],
    ),
  };
  for (const row of rowsOf(problem)) addRow(all, row);
  const { dQuery, dKey, dValue, dBias, dSinks, dHeadGain, dAlibiSlopes, dTables } = all;
  return {
    forward: all.forward,
    dQuery: dQuery.expected(problem.scale),
    dKey: dKey.expected(problem.scale),
    dValue: dValue.expected(),
    dBias: dBias.expected(),
    dSinks: dSinks.expected(),
    dHeadGain: dHeadGain.expected(),
    dAlibiSlopes: dAlibiSlopes.expected(),
    dTables: Object.fromEntries(Object.entries(dTables).map(([name, sums]) => [name, sums.expected()])),
  };
}

function addRow(all: All, row: Row): void {
  const { problem, forward } = all;
  const { shape, options } = problem;
  const { sequence, h, i, index } = row;
  const b = sequence.batch;
  if (row.localRow >= sequence.queryLength) return;
  if (forward.openRows[index]) {
    openRow(all, row);
    return;
  }
  if (forward.visibleKeys[index] === 0) {
    // a row without keys has no gradient; NaN marks it if the call asks for that
    if (options.emptyRows === "nan")
      for (let d = 0; d < shape.D; ++d) all.dQuery.add(problem.queryIndex(b, h, i, d), NaN, 1, 0);
    return;
  }
  const delta = deltaOf(all, row);
  const lse = forward.lse.values[index]!;
  const lseError = forward.lse.tolerance[index]!;
  const sinkWeight = exp(problem.sink(h) - lse);
  const sinkError = sinkWeight * (expm1(lseError) + 16 * EPSILON) + FLUSHED;
  all.dSinks.add(
    h,
    -sinkWeight * delta.value,
    1,
    sinkError * abs(delta.value) + (sinkWeight + sinkError) * delta.error,
  );
  for (let j = sequence.keyStart; j < sequence.keyEnd; ++j)
    if (forward.visiblePairs[index * shape.Skv + j]) addPair(all, row, j, delta, lseError);
}

/** dO · O − dLse. The error of O includes the rounding of a float16 output. */
function deltaOf({ problem, forward, dOutput, dLse }: All, { sequence, h, i, index }: Row): Rough {
  const { output } = forward;
  const start = rowStart(dOutput, sequence.batch, h, i);
  let value = 0;
  let magnitude = 0;
  let error = FLUSHED;
  for (let d = 0; d < dOutput.dim; ++d) {
    const at = problem.outputIndex(sequence.batch, h, i, d);
    const gradient = dOutput.data[start + d]!;
    value += gradient * output.values[at]!;
    magnitude += abs(gradient * output.values[at]!);
    error += abs(gradient) * output.tolerance[at]!;
  }
  const byLse = dLse?.data[index] ?? 0;
  return { value: value - byLse, error: error + (4 + dOutput.dim / 4) * EPSILON * (magnitude + abs(byLse)) };
}

function addPair(all: All, row: Row, j: number, delta: Rough, lseError: number): void {
  const { problem, forward, dOutput } = all;
  const { shape, q, k, v } = problem;
  const { h, i, index } = row;
  const b = row.sequence.batch;
  const g = Math.floor(h / (shape.Hq / shape.Hkv));
  const at = index * shape.Skv + j;
  const gain = problem.gain(h);

  const distance = forward.formula.values[at]! - forward.lse.values[index]!;
  const share = shareOf(problem, row, j);
  const p = exp(distance);
  const most = exp(distance + forward.formula.tolerance[at]! + lseError);
  const pError = (Number.isNaN(p) ? NaN : most - p) + 16 * EPSILON * p + FLUSHED;
  const [w, wError] = [share * p, share * pError];

  const outputStart = rowStart(dOutput, b, h, i);
  const product = dot(dOutput, outputStart, v, rowStart(v, b, g, j));
  const { queryIndex, keyIndex, valueIndex } = problem;
  const [value, nextValue] = [valueIndex(b, g, j, 0), valueIndex(b, g, j, 1)];
  all.dValue.addProducts(value, nextValue, gain * w, abs(gain) * wError, dOutput.data, outputStart, shape.Dv);
  all.dHeadGain.add(h, w * product.value, 1, wError * abs(product.value) + (w + wError) * product.error);

  const reached = gain * share * product.value;
  const slope = reached - delta.value;
  const slopeError = abs(gain) * share * product.error + delta.error + 2 * EPSILON * (abs(reached) + abs(delta.value));
  const afterFormula = {
    value: p * slope,
    error: pError * abs(slope) + (p + pError) * slopeError + 2 * EPSILON * abs(p * slope),
  };
  const biased = throughFormula(all, row, j, afterFormula);
  if (!biased) {
    openPair(all, row, j);
    return;
  }
  const apart = pairDistance(problem, row, j);
  if (problem.options.bias) all.dBias.add(all.biasIndex(b, h, i, j), biased.value, 1, biased.error);
  all.dAlibiSlopes.add(h, -biased.value, alibiDistance(problem, row, j, apart), biased.error);

  const raw = throughSoftcap(problem, forward.softcapped, at, biased);
  const [query, nextQuery] = [queryIndex(b, h, i, 0), queryIndex(b, h, i, 1)];
  all.dQuery.addProducts(query, nextQuery, raw.value, raw.error, k.data, rowStart(k, b, g, j), shape.D);
  const [key, nextKey] = [keyIndex(b, g, j, 0), keyIndex(b, g, j, 1)];
  all.dKey.addProducts(key, nextKey, raw.value, raw.error, q.data, rowStart(q, b, h, i), shape.D);
}

/** key position − query position */
function pairDistance({ options }: Problem, { sequence, localRow }: Row, j: number): number {
  return (options.heldPositions?.[sequence.batch]?.[j] ?? j - sequence.keyStart) - (localRow + sequence.offset);
}

/**
 * The gradient of the score before the formula; adds those of the formula's parameters. undefined if the error model
 * does not say what it is.
 */
function throughFormula(all: All, row: Row, j: number, after: Rough): Rough | undefined {
  const { problem, forward, derivatives, dTables } = all;
  if (!derivatives) return after;
  const at = row.index * problem.shape.Skv + j;
  const [value, error] = [forward.biased.values[at]!, forward.biased.tolerance[at]!];
  const s: Outcome = Number.isFinite(value)
    ? { low: value - error, high: value + error, nan: "never" }
    : exactly(value);
  const { by } = derivatives({ ...variables(problem, row, j, pairDistance(problem, row, j)), s });
  const changed = new Map([...by].map(([source, derivative]) => [source, times(after, derivative)]));
  if ([...changed.values()].includes(undefined)) return undefined;
  for (const [source, gradient] of changed) {
    const [, name, place = "0"] = /^(\w+)(?:\[(\d+)\])?$/.exec(source)!;
    if (source !== "s") dTables[name!]!.add(Number(place), gradient!.value, 1, gradient!.error);
  }
  return changed.has("s") ? changed.get("s") : { value: 0, error: 0 };
}

/** A gradient times a derivative, which is known as a range. Engines may differentiate in other steps: 4 widths. */
function times({ value, error }: Rough, derivative: Outcome): Rough | undefined {
  if (!isStated(derivative)) return undefined;
  const middle = (derivative.low + derivative.high) / 2;
  const reach = 2 * (derivative.high - derivative.low) + 4 * EPSILON * abs(middle);
  return { value: value * middle, error: error * (abs(middle) + reach) + abs(value) * reach };
}

/** ds · (1 − (c / softcap)²) */
function throughSoftcap({ softcap }: Problem, softcapped: Expected, at: number, { value, error }: Rough): Rough {
  if (softcap === 0) return { value, error };
  const ratio = softcapped.values[at]! / softcap;
  const derivative = 1 - ratio ** 2;
  const derivativeError = (2 * abs(ratio) * softcapped.tolerance[at]!) / softcap + 8 * EPSILON;
  return {
    value: value * derivative,
    error: error * (derivative + derivativeError) + abs(value) * derivativeError,
  };
}

/** An engine may give anything for the score's gradient at this pair. */
function openPair(sums: All, { sequence, h, i }: Row, j: number): void {
  const { problem, biasIndex } = sums;
  const b = sequence.batch;
  const g = Math.floor(h / (problem.shape.Hq / problem.shape.Hkv));
  for (let d = 0; d < problem.shape.D; ++d) {
    sums.dQuery.open(problem.queryIndex(b, h, i, d));
    sums.dKey.open(problem.keyIndex(b, g, j, d));
  }
  if (problem.options.bias) sums.dBias.open(biasIndex(b, h, i, j));
  sums.dAlibiSlopes.open(h);
  for (const table of Object.values(sums.dTables)) table.openAll();
}

/** A row of which the error model says nothing. */
function openRow(all: All, row: Row): void {
  const { problem } = all;
  const { h, sequence } = row;
  const g = Math.floor(h / (problem.shape.Hq / problem.shape.Hkv));
  for (let j = sequence.keyStart; j < sequence.keyStart + sequence.keyLength; ++j) {
    openPair(all, row, j);
    for (let d = 0; d < problem.shape.Dv; ++d) all.dValue.open(problem.valueIndex(sequence.batch, g, j, d));
  }
  all.dSinks.open(h);
  all.dHeadGain.open(h);
}
