import type { TypedTensor } from "../tensor/tensor.js";
import { heldLength } from "./heldTokens.js";
import type { EngineCache } from "./engineCache.js";
import type { CacheRows } from "./savedRows.js";

/** The result of `cache.read()`. S is the number of tokens that were asked for. */
export interface CacheContent {
  /** `[B, numKvHeads, S, headDim]` */
  readonly key: TypedTensor<"float32">;
  /** `[B, numKvHeads, S, valueDim]` */
  readonly value: TypedTensor<"float32">;
  /**
   * `[B, S]`: the position of each token, which is the index at which it was appended. −1 if the batch has no token
   * there.
   */
  readonly positions: TypedTensor<"int32">;
}

/** Adds shapes and positions to the rows of the tokens [from, to) that the cache holds. */
export function content(
  { form, appended }: EngineCache,
  { key, value }: CacheRows,
  from: number,
  to: number,
): CacheContent {
  const { batchSize, numKvHeads, headDim, valueDim } = form;
  const length = to - from;
  const positions = Int32Array.from({ length: batchSize * length }, (_, n) => {
    const b = Math.floor(n / length);
    const total = appended[b]!;
    return positionOf(form.ring, total, heldLength(form, total, b), from + (n % length));
  });
  return {
    key: { data: key, shape: [batchSize, numKvHeads, length, headDim], dtype: "float32" },
    value: { data: value, shape: [batchSize, numKvHeads, length, valueDim], dtype: "float32" },
    positions: { data: positions, shape: [batchSize, length], dtype: "int32" },
  };
}

/**
 * The position of the token at `index` in the cache. In a ring that has dropped tokens, there is a gap after
 * `keepFirst`.
 */
function positionOf(ring: EngineCache["form"]["ring"], total: number, held: number, index: number): number {
  if (index >= held) return -1;
  return ring && index >= ring.keepFirst ? total - held + index : index;
}
