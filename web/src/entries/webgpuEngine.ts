// The file dist/webgpu-engine.js: entries with another engine load it when a call first needs the GPU.

export { openGpuAlone } from "../instance/openGpu.js";
export { version } from "../engine/version.js";
export { openWebgpu } from "../webgpu/webgpuEngine.js";
