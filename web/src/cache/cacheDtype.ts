/**
 * The type in which a cache stores numbers: float32, float16, or int8. int8 has a scale for every 32 neighbouring numbers
 * of a row: scale = max |x| / 127, and a number is off by at most (1/2 + 2⁻¹⁷) scales. The mean of the keys of a batch's
 * first append is subtracted from its keys before, and its product with the query is added to the scores.
 */
export type CacheDtype = "float32" | "float16" | "int8";

/** All of them; the first is the default. */
export const CACHE_DTYPES: readonly [CacheDtype, ...CacheDtype[]] = ["float32", "float16", "int8"];
