// What WebAssembly runs for calls other than attention.

export { runBackward } from "./backward.js";
export { runLinear, runLinearBackward } from "./linear.js";
export { runMerge } from "./merge.js";
export { runRotary } from "./rotary.js";
