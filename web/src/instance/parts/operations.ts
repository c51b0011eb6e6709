// All operations but attention: what an instance reads, what WebAssembly runs, and how
// backend "auto" places layers and caches.

export { backwardProblem } from "../../attention/backwardProblem.js";
export { mergeProblem } from "../../attention/mergeProblem.js";
export { KvCache } from "../../cache/kvCache.js";
export { kvCacheProblem, restoreCache } from "../../cache/savedCache.js";
export { Layer } from "../../layer/layer.js";
export { layerProblem } from "../../layer/layerProblem.js";
export { linearBackwardProblem, linearProblem, uploadWeightProblem } from "../../linear/linearProblem.js";
export { UploadedWeight } from "../../linear/uploadedWeight.js";
export { rotaryProblem } from "../../position/rotaryProblem.js";
export * from "../../wasm/runners.js";
export * from "../placed.js";
