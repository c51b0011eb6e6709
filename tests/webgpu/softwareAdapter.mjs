// Jest's global setup. Without a GPU, tests use the software adapter of Debian's chromium package (SwiftShader). It
// must be named before the first process asks Vulkan. A test's process.env is only a copy, so tests cannot name it.

import { existsSync } from "node:fs";

const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";
const GPU_DEVICES = ["/dev/nvidia0", "/dev/dri/renderD128"];

export default function nameSoftwareAdapter() {
  if (process.env.VK_ICD_FILENAMES || !existsSync(SWIFTSHADER) || GPU_DEVICES.some(existsSync)) return;
  process.env.VK_ICD_FILENAMES = SWIFTSHADER;
}

/**
 * SwiftShader compiles the Vulkan extension that zeroes workgroup memory to one store for each word: a kernel of ours took
 * 7.6 s. Without the extension Dawn writes a loop into the kernel, which zeroes the same memory, and it takes 1.0 s.
 */
const ZERO_IN_LOOPS = "disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension";

/** The flags with which the package webgpu opens the adapter: none on a GPU. */
export const dawnFlags = () => (process.env.VK_ICD_FILENAMES === SWIFTSHADER ? [ZERO_IN_LOOPS] : []);

/** The same for Chromium, which brings its SwiftShader. */
export const CHROMIUM_FLAG = `--${ZERO_IN_LOOPS}`;
