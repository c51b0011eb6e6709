import type { PlacedResult } from "../attention/attentionResult.js";
import { fromHalf } from "../tensor/half.js";
import type { TypedTensor } from "../tensor/tensor.js";

/** Results in which an error of the scores is larger than in the output: lse and scores grow with them, entropy more. */
const FACTORS: Readonly<Record<string, number>> = { lse: 4, scores: 4, entropy: 64 };

/**
 * What differs between the results of an engine and those of wasm, in words; undefined if they agree within the tolerance.
 * The indices of topK are not compared: values that are nearly equal may change places.
 */
export function difference(
  results: readonly PlacedResult[],
  expected: readonly PlacedResult[],
  tolerance: number,
): string | undefined {
  for (const [n, wanted] of expected.entries()) {
    const given = partsOf(results[n]);
    for (const [name, tensor] of Object.entries(partsOf(wanted))) {
      const found = given[name];
      if (!found) return `${name} is missing`;
      const text = tensorDifference(name, numbersOf(found), numbersOf(tensor), tolerance * (FACTORS[name] ?? 1));
      if (text) return text;
    }
  }
  return undefined;
}

function partsOf(result: PlacedResult | undefined): Record<string, TypedTensor> {
  const { topK, ...others } = result ?? {};
  return { ...(others as Record<string, TypedTensor>), ...(topK && { "topK.values": topK.values as TypedTensor }) };
}

function numbersOf({ data, dtype }: TypedTensor): ArrayLike<number> {
  if (dtype !== "float16") return data;
  const { buffer, byteOffset, length } = data as Uint16Array;
  return fromHalf(new Uint16Array(buffer, byteOffset, length));
}

function tensorDifference(
  name: string,
  found: ArrayLike<number>,
  wanted: ArrayLike<number>,
  tolerance: number,
): string | undefined {
  if (found.length !== wanted.length) return `${name} has ${found.length} numbers, wasm gives ${wanted.length}`;
  for (let n = 0; n < wanted.length; ++n) {
    const [a, b] = [found[n]!, wanted[n]!];
    if (Object.is(a, b) || Math.abs(a - b) <= tolerance + 2 ** -22 * Math.abs(b)) continue;
    return `${name}[${n}] is ${a}, wasm gives ${b}`;
  }
  return undefined;
}
