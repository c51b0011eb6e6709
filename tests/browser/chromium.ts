import { chromium, type Browser, type LaunchOptions } from "playwright-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { CHROMIUM_FLAG } from "../webgpu/softwareAdapter.mjs";
import { countPages } from "./countedPages.js";
import { environmentWith, type SystemFont } from "./systemFont.js";

export const CHROMIUM = {
  executablePath: process.env["HEADWISE_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
  timeout: WAIT_MILLISECONDS,
} satisfies LaunchOptions;

/** Starts Chromium with time limits for slow machines. Counts what its pages run, if the coverage is measured. */
export function launchChromium(...args: string[]): Promise<Browser> {
  return launch({ args: [...CHROMIUM.args, ...args] });
}

/** Starts Chromium on a system whose only choice of a font is this one. */
export const launchChromiumWithFont = (font: SystemFont) => launch({ env: environmentWith(font) });

async function launch(options: LaunchOptions): Promise<Browser> {
  const browser = countPages(await chromium.launch({ ...CHROMIUM, ...options }));
  return browser.on("context", (context) => context.setDefaultTimeout(WAIT_MILLISECONDS));
}

/** Starts Chromium with WebGPU on its software adapter. */
export const launchChromiumWithGpu = () => launchChromium("--enable-unsafe-webgpu", CHROMIUM_FLAG);
