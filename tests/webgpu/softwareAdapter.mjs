// Jest's global setup. Without a GPU, tests use the software adapter of Debian's chromium package (SwiftShader). It
// must be named before the first process asks Vulkan. A test's process.env is only a copy, so tests cannot name it.

import { existsSync } from "node:fs";

import { ZERO_IN_LOOPS } from "../attention-conformance/runner/chromiumFlag.mjs";

export { CHROMIUM_FLAG } from "../attention-conformance/runner/chromiumFlag.mjs";

const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";
const GPU_DEVICES = ["/dev/nvidia0", "/dev/dri/renderD128"];

export default function nameSoftwareAdapter() {
  if (process.env.VK_ICD_FILENAMES || !existsSync(SWIFTSHADER) || GPU_DEVICES.some(existsSync)) return;
  process.env.VK_ICD_FILENAMES = SWIFTSHADER;
}

/** The flags with which the package webgpu opens the adapter: none on a GPU. */
export const dawnFlags = () => (process.env.VK_ICD_FILENAMES === SWIFTSHADER ? [ZERO_IN_LOOPS] : []);
