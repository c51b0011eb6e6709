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
