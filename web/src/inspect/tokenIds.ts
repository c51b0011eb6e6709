import { assertShape, indices, type Indices } from "../tensor/plainTensor.js";
import type { AttentionMaps } from "./attentionMaps.js";

/** Checks the ids of the tokens at the keys, and gives those of each sequence: `[Skv]` are the same for all. */
export function tokenIds(operation: string, tokens: Indices, { batch, keys }: AttentionMaps): readonly Int32Array[] {
  const given = indices(operation, "tokens", tokens);
  const isShared = given.shape.length === 1;
  assertShape(operation, "tokens", given, isShared ? [keys] : [batch, keys], isShared ? "[Skv]," : "[B, Skv],");
  return Array.from({ length: batch }, (_, sequence) => {
    const start = isShared ? 0 : sequence * keys;
    return given.data.subarray(start, start + keys);
  });
}
