import { t } from "../texts/t.js";
import type { Encoding } from "./encoder.js";

/** One head of one layer. Its maps are square and row-major: [from, to]. */
export interface Head {
  readonly layer: number;
  readonly head: number;
  /** What each token attends to. Every row sums to 1. */
  readonly probs: Float32Array;
  /** q·k / √headDim, before the softmax. */
  readonly scores: Float32Array;
}

/** All heads, layer by layer. */
export function headsOf({ tokens, layers }: Pick<Encoding, "tokens" | "layers">): Head[] {
  const size = tokens.length ** 2;
  return layers.flatMap(({ numHeads, probs, scores }, layer) =>
    Array.from({ length: numHeads }, (_, head) => ({
      layer,
      head,
      probs: probs.subarray(head * size, (head + 1) * size),
      scores: scores.subarray(head * size, (head + 1) * size),
    })),
  );
}

/** The name with numbers from 1: "layer 1 head 3". */
export function headName({ layer, head }: Pick<Head, "layer" | "head">): string {
  return t`layer ${layer + 1} head ${head + 1}`;
}

/** Row `from` of a square map. */
export function rowOf(map: Float32Array, from: number): Float32Array {
  const tokens = Math.sqrt(map.length);
  return map.subarray(from * tokens, (from + 1) * tokens);
}
