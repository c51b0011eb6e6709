// What an instance reads for calls other than attention, and what it makes for the user.

export { backwardProblem } from "../../attention/backwardProblem.js";
export { mergeProblem } from "../../attention/mergeProblem.js";
export { KvCache } from "../../cache/kvCache.js";
export { kvCacheProblem, restoreCache } from "../../cache/savedCache.js";
export { Layer } from "../../layer/layer.js";
export { layerProblem } from "../../layer/layerProblem.js";
export { linearBackwardProblem, linearProblem, uploadWeightProblem } from "../../linear/linearProblem.js";
export { UploadedWeight } from "../../linear/uploadedWeight.js";
export { rotaryProblem } from "../../position/rotaryProblem.js";
