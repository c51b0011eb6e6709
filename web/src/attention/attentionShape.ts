/** The extents of a call: B, Hq, Hkv, Sq, Skv, D and Dv. */
export interface AttentionShape {
  readonly batchSize: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly queryLength: number;
  readonly keyLength: number;
  readonly headDim: number;
  readonly valueDim: number;
}

/** The whole shape of a call, property by property: a copy by spreading takes a tenth of a small call. */
export function withKeyLength(extents: Omit<AttentionShape, "keyLength">, keyLength: number): AttentionShape {
  const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = extents;
  return { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim };
}
