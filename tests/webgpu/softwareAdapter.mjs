// Jest's global setup. Without a GPU, tests use the software adapter of Debian's chromium package (SwiftShader). It
// must be named before the first process asks Vulkan. A test's process.env is only a copy, so tests cannot name it.

import { existsSync } from "node:fs";

import { ZEROING_EXTENSION } from "../attention-conformance/runner/chromiumFlag.mjs";

export { CHROMIUM_FLAG } from "../attention-conformance/runner/chromiumFlag.mjs";

const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";
const GPU_DEVICES = ["/dev/nvidia0", "/dev/dri/renderD128"];

export default function nameSoftwareAdapter() {
  if (process.env.VK_ICD_FILENAMES || !existsSync(SWIFTSHADER) || GPU_DEVICES.some(existsSync)) return;
  process.env.VK_ICD_FILENAMES = SWIFTSHADER;
}

/**
 * The flags with which the package webgpu opens the adapter: without these features of Dawn, and on the software adapter without
 * the one that is slow there. One flag names them all, because of two flags with one name the package takes the last.
 */
export function dawnFlags(...disabled) {
  const features = process.env.VK_ICD_FILENAMES === SWIFTSHADER ? [ZEROING_EXTENSION, ...disabled] : disabled;
  return features.length > 0 ? [`disable-dawn-features=${features.join()}`] : [];
}
