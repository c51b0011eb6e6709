// Layers and caches, and what an instance reads to make them.

export { KvCache } from "../../cache/kvCache.js";
export { kvCacheProblem, restoreCache } from "../../cache/savedCache.js";
export { Layer } from "../../layer/layer.js";
export { layerProblem } from "../../layer/layerProblem.js";
