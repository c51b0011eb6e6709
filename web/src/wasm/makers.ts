// What WebAssembly makes: layers, caches and steps.

export { createCache, loadCache } from "./cache.js";
export { createLayer } from "./layer.js";
export { createStep } from "./step.js";
