// What places layers and caches of `backend: "auto"`, which may move between the engines.

export { withOwnWeights } from "../layer/ownWeights.js";
export { assumedAttend, assumedForward } from "./assumedCalls.js";
export { PlacedCache } from "./placedCache.js";
export { PlacedLayer } from "./placedLayer.js";
