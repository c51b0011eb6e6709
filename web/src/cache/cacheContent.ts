import type { TypedTensor } from "../tensor/tensor.js";
import { heldLength } from "./cacheProblem.js";
import type { EngineCache } from "./engineCache.js";
import type { CacheRows } from "./savedRows.js";

/** What `cache.read()` gives. */
export interface CacheContent {
  /** `[B, numKvHeads, S, headDim]` */
  readonly key: TypedTensor<"float32">;
  /** `[B, numKvHeads, S, valueDim]` */
  readonly value: TypedTensor<"float32">;
  /** `[B, S]`: the absolute index at which each token was appended; −1 where a batch holds no token. */
  readonly positions: TypedTensor<"int32">;
}

/** The rows of the tokens [from, to) of those held, with their shapes and positions. */
export function content(
  { form, appended }: EngineCache,
  { key, value }: CacheRows,
  from: number,
  to: number,
): CacheContent {
  const { batchSize, numKvHeads, headDim, valueDim } = form;
  const length = to - from;
  const positions = Int32Array.from({ length: batchSize * length }, (_, n) => {
    const total = appended[Math.floor(n / length)]!;
    return positionOf(form.ring, total, heldLength(form, total), from + (n % length));
  });
  return {
    key: { data: key, shape: [batchSize, numKvHeads, length, headDim], dtype: "float32" },
    value: { data: value, shape: [batchSize, numKvHeads, length, valueDim], dtype: "float32" },
    positions: { data: positions, shape: [batchSize, length], dtype: "int32" },
  };
}

/** Where token `index` of those held stands: in a ring that has dropped tokens, those behind the first ones stand later. */
function positionOf(ring: EngineCache["form"]["ring"], total: number, held: number, index: number): number {
  if (index >= held) return -1;
  return ring && index >= ring.keepFirst ? total - held + index : index;
}
