import type { Expected, ReferenceResult } from "./reference.js";

export interface TopK {
  readonly values: { readonly data: ArrayLike<number> };
  readonly indices: { readonly data: ArrayLike<number> };
}

/**
 * The problems of the k largest probabilities of each row. Rounding may swap nearly equal ones. So a list is correct if
 * its values belong to its keys and descend, if equal values have the lower key first, and if no larger value is
 * missing.
 *
 * @param eligible - Nonzero for the keys that may be chosen, in the shape of `probs`.
 */
export function topKProblems(
  topK: TopK | undefined,
  k: number,
  numKeys: number,
  probs: Expected,
  eligible: ArrayLike<number>,
): string[] {
  if (!topK) return ["there is no result"];
  const rows = numKeys === 0 ? topK.indices.data.length / k : probs.values.length / numKeys;
  const { length } = topK.values.data;
  if (length !== rows * k || topK.indices.data.length !== length)
    return [`there are ${length} values, not ${rows * k}`];
  return Array.from({ length: rows }, (_, row) => {
    const keys = Array.from({ length: numKeys }, (_, j) => j).filter((j) => eligible[row * numKeys + j]);
    const list = Array.from({ length: k }, (_, n) => ({
      key: topK.indices.data[row * k + n]!,
      value: topK.values.data[row * k + n]!,
    }));
    const problem = rowProblem(list, keys, {
      values: probs.values.subarray(row * numKeys, (row + 1) * numKeys),
      tolerance: probs.tolerance.subarray(row * numKeys, (row + 1) * numKeys),
    });
    return problem === undefined ? [] : [`row ${row}: ${problem}`];
  })
    .flat()
    .slice(0, 5);
}

function rowProblem(
  list: readonly { key: number; value: number }[],
  eligible: readonly number[],
  { values, tolerance }: Expected,
): string | undefined {
  const chosen = list.slice(0, eligible.length);
  for (const { key, value } of list.slice(eligible.length))
    if (key !== -1 || value !== 0) return `key ${key} with ${value} pads a short row instead of -1 with 0`;
  for (const [n, { key, value }] of chosen.entries()) {
    if (!eligible.includes(key)) return `key ${key} is not visible`;
    if (!Object.is(value, values[key]) && !(Math.abs(value - values[key]!) <= tolerance[key]!))
      return `key ${key} has ${value}, not ${values[key]}`;
    const before = chosen[n - 1];
    if (before && (before.value < value || (before.value === value && before.key >= key)))
      return `key ${key} comes after key ${before.key}`;
  }
  const smallest = chosen.at(-1)?.value ?? 0;
  const missed = eligible.find((j) => !chosen.some(({ key }) => key === j) && values[j]! - tolerance[j]! > smallest);
  return missed === undefined ? undefined : `key ${missed} with ${values[missed]} is left out`;
}

/** The keys that topK may contain: the visible ones, and all keys of a row for which emptyRows is "uniform". */
export function eligibleKeys({ formula, probs }: ReferenceResult): Expected {
  const values = formula.values.map((s, k) => Number(s !== -Infinity || probs.values[k]! > 0));
  return { values, tolerance: new Float64Array(values.length) };
}
