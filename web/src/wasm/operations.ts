// What the wasm engine does beside scaledDotProductAttention.

export { createCache, loadCache } from "./cache.js";
export { createLayer } from "./layer.js";
export { runMerge } from "./merge.js";
export { runRotary } from "./rotary.js";
