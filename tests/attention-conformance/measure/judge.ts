/** The verdict on an array of numbers, in units of the tolerance that the error model gives each of them. */

import { float16ToNumber, type Expected, type ReferenceResult } from "../reference/reference.js";
import { eligibleKeys, topKProblems, type TopK } from "../reference/topK.js";

export type Verdict = "passed" | "imprecise" | "wrong" | "refused";

export interface Judgement {
  readonly verdict: Verdict;
  /** The largest error in units of the tolerance; Infinity if something is NaN or missing. */
  readonly error?: number;
  /** The first place that is not passed, or why the engine refused. */
  readonly note?: string;
}

/** Up to here an error is a matter of precision: the formula is right, the arithmetic is coarser than float32's. */
export const IMPRECISE = 64;

export type Numbers = { readonly data: ArrayLike<number>; readonly dtype?: string | undefined } | undefined;

export function judge(name: string, actual: Numbers, { values, tolerance }: Expected): Judgement {
  if (!actual) return { verdict: "wrong", error: Infinity, note: `${name} is missing` };
  if (actual.data.length !== values.length)
    return {
      verdict: "wrong",
      error: Infinity,
      note: `${name} has ${actual.data.length} numbers, not ${values.length}`,
    };
  const at = numbersOf(actual);
  // an engine may round to float16 what it returns as float16; the output's tolerance has that already
  const rounding = name !== "output" && isHalf(actual) ? float16Unit : () => 0;
  let error = 0;
  let first = "";
  for (let k = 0; k < values.length; ++k) {
    const ratio = errorOf(at(k), values[k]!, tolerance[k]! + rounding(values[k]!));
    if (ratio > 1 && !first) first = `${name}[${k}] is ${at(k)}, not ${values[k]} ± ${tolerance[k]!.toPrecision(3)}`;
    error = Math.max(error, ratio);
  }
  return { verdict: verdictOf(error), error, ...(first && { note: first }) };
}

/** @param topK - `{ values, indices }` */
export function judgeTopK(topK: unknown, k: number, reference: ReferenceResult): Judgement {
  const { probs, shape } = reference;
  const [problem] = topKProblems(topK as TopK | undefined, k, shape.Skv, probs, eligibleKeys(reference).values);
  if (problem === undefined) return { verdict: "passed", error: 0 };
  return { verdict: "wrong", error: Infinity, note: `topK: ${problem}` };
}

export function verdictOf(error: number): Verdict {
  return error <= 1 ? "passed" : error <= IMPRECISE ? "imprecise" : "wrong";
}

/** The worst of several judgements. */
export function worst(all: readonly Judgement[]): Judgement {
  return all.reduce((a, b) => ((b.error ?? 0) > (a.error ?? 0) ? b : a));
}

export function errorOf(actual: number, expected: number, tolerance: number): number {
  if (tolerance === Infinity || Object.is(actual, expected)) return 0;
  if (!Number.isFinite(expected)) return Infinity;
  const ratio = Math.abs(actual - expected) / tolerance;
  return Number.isNaN(ratio) ? (actual === expected ? 0 : Infinity) : ratio;
}

/** float16 arrives as bits in a Uint16Array, or as an array of numbers. */
function numbersOf({ data }: { readonly data: ArrayLike<number> }): (k: number) => number {
  return isBits(data) ? (k) => float16ToNumber(data[k]!) : (k) => data[k]!;
}

const isHalf = ({ data, dtype }: NonNullable<Numbers>) => dtype === "float16" || isBits(data);

/** The distance between neighbouring float16 numbers near x. */
const float16Unit = (x: number) => 2 ** Math.max(-24, Math.floor(Math.log2(Math.abs(x))) - 10);

/** By the tag, because an engine's arrays may be of another realm. */
export function isBits(data: ArrayLike<number>): boolean {
  return Object.prototype.toString.call(data) === "[object Uint16Array]";
}
