export { callOf, type Call, type Row } from "./call.js";
export type { Engine } from "./engine.js";
export { CATEGORIES, OFFERED } from "./features.js";
export { attention, few, measure, type Check, type Suite } from "./measure.js";
export { memoryCall, memoryVerdict } from "./memory.js";
