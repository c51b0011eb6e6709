import { exactAttention, type ExactOptions } from "./exact.js";
import type { Floats } from "./floats.js";

/** The distance of headwise's numbers from those of a computation in double precision. */
export interface Difference {
  readonly what: string;
  readonly numbers: number;
  readonly largest: number;
}

export function difference(what: string, computed: ArrayLike<number>, exact: ArrayLike<number>): Difference {
  if (computed.length !== exact.length) throw new Error(`${what}: ${computed.length} numbers against ${exact.length}`);
  let largest = 0;
  for (let i = 0; i < exact.length; i++) {
    const agree = Object.is(computed[i], exact[i]) || computed[i] === exact[i];
    if (!agree) largest = Math.max(largest, Math.abs(computed[i]! - exact[i]!));
  }
  return { what, numbers: exact.length, largest };
}

/** Compares a call's result with the definition. Tensors are [B, H, S, D]. */
export function attentionDifferences(
  call: { readonly query: Floats; readonly key: Floats; readonly value: Floats; readonly options: ExactOptions },
  { output, probs }: { readonly output: Floats; readonly probs: Floats },
): Difference[] {
  const exact = exactAttention(call.query, call.key, call.value, call.options);
  return [difference("output", output.data, exact.output), difference("probabilities", probs.data, exact.probs)];
}
