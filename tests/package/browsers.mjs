// Firefox and WebKitGTK: opens a page in each, in a process of its own. Chromium needs none: playwright-core opens it.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

const FIREFOX = process.env.HEADWISE_FIREFOX ?? "/usr/bin/firefox-esr";
const TRIPLET = process.arch === "arm64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
const MINIBROWSER = process.env.HEADWISE_WEBKIT ?? `/usr/lib/${TRIPLET}/webkit2gtk-4.1/MiniBrowser`;

/** Mesa's software driver of Vulkan, which compiles in milliseconds. Chromium's package brings another, which takes seconds. */
export const LAVAPIPE = `/usr/share/vulkan/icd.d/lvp_icd.${process.arch === "arm64" ? "aarch64" : "x86_64"}.json`;

/** The driver with which Firefox has WebGPU. */
export const SOFTWARE_VULKAN = [LAVAPIPE, "/usr/lib/chromium/vk_swiftshader_icd.json"].find(existsSync);

/** What a program prints as JSON. The openers wait as long as a page may take, and need some time to start and end. */
async function printedBy(program, args, env = {}) {
  const options = { timeout: 2 * WAIT_MILLISECONDS, env: { ...process.env, NODE_OPTIONS: undefined, ...env } };
  return JSON.parse((await promisify(execFile)(program, args, options)).stdout);
}

export const firefox = {
  needs: [FIREFOX, here("node_modules/puppeteer-core")],
  async open(url) {
    const runtime = await mkdtemp(path.join(tmpdir(), "headwise-firefox-"));
    const vulkan = SOFTWARE_VULKAN && { VK_ICD_FILENAMES: SOFTWARE_VULKAN };
    try {
      const env = { XDG_RUNTIME_DIR: runtime, ...vulkan };
      return await printedBy(process.execPath, [here("firefox.mjs"), FIREFOX, url], env);
    } finally {
      await rm(runtime, { recursive: true, force: true });
    }
  },
};

export const webkit = {
  needs: [MINIBROWSER, "/usr/bin/WebKitWebDriver", "/usr/bin/xvfb-run"],
  open: (url) => printedBy("xvfb-run", ["--auto-servernum", process.execPath, here("webkit.mjs"), MINIBROWSER, url]),
};
