// A GPU object for Node: that of the machine, or the software adapter of Debian's chromium package.

import nameSoftwareAdapter, { dawnFlags } from "../../webgpu/softwareAdapter.mjs";

/** Keeps the object as long as the process lives: if it was collected, the process would crash. */
const kept = [];

/**
 * @param {string[]} [flags] - of Dawn
 * @returns {Promise<GPU | undefined>} undefined where there is no adapter
 */
export async function openGpu(flags) {
  nameSoftwareAdapter(); // before the first question to Vulkan
  const webgpu = await import("webgpu").catch(() => undefined);
  if (!webgpu) return undefined;
  Object.assign(globalThis, webgpu.globals);
  const gpu = webgpu.create(flags ?? dawnFlags());
  kept.push(gpu);
  return (await gpu.requestAdapter()) ? gpu : undefined;
}
