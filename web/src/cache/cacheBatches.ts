/** The most batches of a cache: `kMostCacheBatches` of kv_cache.h. Each takes memory, also without tokens. */
export const MOST_CACHE_BATCHES = 2 ** 20;
