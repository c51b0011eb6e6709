// The WebGPU engine as a file of its own, which entries with another engine beside it load when it is wanted.

export { openGpuAlone } from "../instance/openGpu.js";
export { version } from "../engine/version.js";
export { openWebgpu } from "../webgpu/webgpuEngine.js";
