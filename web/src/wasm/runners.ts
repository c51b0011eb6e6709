// What WebAssembly runs for calls other than attention.

export { runBackward } from "./backward.js";
export { createCache, loadCache } from "./cache.js";
export { createLayer } from "./layer.js";
export { runLinear, runLinearBackward } from "./linear.js";
export { runMerge } from "./merge.js";
export { runRotary } from "./rotary.js";
export { createStep } from "./step.js";
