import type { Tensor } from "headwise";

import { float16ToNumber, type Expected } from "../attention-conformance/reference/reference.js";

// Looked up once: a test runner's sandbox is slow to find globals.
const { abs, max } = Math;
const { isFinite } = Number;
const { is } = Object;

/** The values of a tensor as numbers. */
export function valuesOf({ data }: Pick<Tensor, "data">): ArrayLike<number> {
  const isBits = (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] === "Uint16Array";
  return isBits ? Float64Array.from(data, float16ToNumber) : data;
}

/** The data of a tensor that must be float32. */
export function float32Of({ data }: Pick<Tensor, "data">): Float32Array {
  return data as Float32Array;
}

/**
 * The places at which a result differs from the expected values by more than their tolerance. Each of the first such
 * places gives one line of text, so `expect(differences(…)).toEqual([])` shows them.
 */
export function differences(result: Pick<Tensor, "data"> | undefined, { values, tolerance }: Expected): string[] {
  if (!result) return ["there is no result"];
  const actual = valuesOf(result);
  if (actual.length !== values.length) return [`there are ${actual.length} values, not ${values.length}`];
  const lines: string[] = [];
  for (let k = 0; k < actual.length && lines.length < 5; ++k) {
    if (tolerance[k] === Infinity) continue; // any value is right
    const isClose = isFinite(values[k]) ? abs(actual[k]! - values[k]!) <= tolerance[k]! : is(actual[k], values[k]);
    if (!isClose) lines.push(`[${k}] is ${actual[k]}, not ${values[k]} ± ${tolerance[k]}`);
  }
  return lines;
}

/** The largest difference between the numbers of two lists: NaN if there is one. To expect each would take a second. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return NaN;
  let largest = 0;
  for (let n = 0; n < a.length; ++n) largest = max(largest, abs(a[n]! - b[n]!));
  return largest;
}

/** The bytes of every array of a result. Compare them to compare two results bit by bit. */
export function bits(result: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(result)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]: [string, unknown]) => [
        name,
        ArrayBuffer.isView(value) ? bytes(value) : isPlain(value) ? bits(value) : value,
      ]),
  );
}

function bytes({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
