import { exactAttention, type ExactOptions } from "./exact.js";
import { headWords } from "../shell/headWords.js";
import type { Floats } from "./floats.js";
import { t } from "../../texts/t.js";

/** The distance of headwise's numbers from those of a computation in double precision. */
export interface Difference {
  readonly what: string;
  readonly numbers: number;
  readonly largest: number;
  /** Which weights were compared; layers count from 1, heads from 0. The page names them in its own language. */
  readonly place?: WeightsPlace;
}

export interface WeightsPlace {
  readonly layer: number;
  /** undefined: all heads of the layer. */
  readonly head?: number;
}

/** The difference of the weights of a layer or of a head. */
export function weightsDifference(place: WeightsPlace, computed: ArrayLike<number>, exact: ArrayLike<number>) {
  return { ...difference(placeWords(place), computed, exact), place };
}

/** Differences that a worker has found, named in the language of the page. */
export function named(differences: readonly Difference[]): readonly Difference[] {
  return differences.map((each) => (each.place ? { ...each, what: placeWords(each.place) } : each));
}

function placeWords({ layer, head }: WeightsPlace): string {
  if (head === undefined) return t`weights of layer ${layer}`;
  return t`weights of ${headWords({ layer, head })} on the keys that it sees`;
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
  return [difference(t`output`, output.data, exact.output), difference(t`probabilities`, probs.data, exact.probs)];
}
