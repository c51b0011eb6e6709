// The WebGPU engine as a file of its own, which entries with another engine beside it load when it is wanted.

export { openGpuAlone } from "./openGpu.js";
export { version } from "./version.js";
export { openWebgpu } from "./webgpu/backend.js";
