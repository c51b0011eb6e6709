/** Keys whose numbers are replaced. Rows that see none of them must not change. */

import type { Input, ReferenceResult, Expected } from "../reference/reference.js";
import type { Call } from "./call.js";

export interface Poison {
  readonly into: readonly ("key" | "value" | "bias")[];
  readonly with: "NaN" | "Infinity" | "-Infinity";
  /** The keys, in every batch and head. */
  readonly keys: readonly number[];
}

export function poisonedCall(call: Call, { into, with: text, keys }: Poison): Call {
  const number = Number(text);
  const isPoisoned = (j: number) => keys.includes(j);
  const features = (input: Input) => {
    const [, , S, D] = input.shape as [number, number, number, number];
    return changed(input, number, (k) => isPoisoned(Math.floor(k / D) % S));
  };
  const { bias } = call.options;
  return {
    ...call,
    key: into.includes("key") ? features(call.key) : call.key,
    value: into.includes("value") ? features(call.value) : call.value,
    options:
      bias && into.includes("bias")
        ? {
            ...call.options,
            bias: changed(bias as Input, number, (k) => isPoisoned(k % (bias as Input).shape.at(-1)!)) as never,
          }
        : call.options,
  };
}

function changed(input: Input, number: number, isChosen: (k: number) => boolean): Input {
  return { ...input, data: Float32Array.from(input.data, (x, k) => (isChosen(k) ? number : x)) };
}

/** The expected output, where rows that see a poisoned key may be anything. */
export function openPoisonedRows(reference: ReferenceResult, { keys }: Poison): Expected {
  const { visiblePairs, output, shape } = reference;
  const { Skv, Dv } = shape;
  const tolerance = output.tolerance.slice();
  const rows = visiblePairs.length / Skv;
  for (let row = 0; row < rows; ++row)
    if (keys.some((j) => visiblePairs[row * Skv + j])) tolerance.fill(Infinity, row * Dv, (row + 1) * Dv);
  return { values: output.values, tolerance };
}
