import { chromium, type Browser, type LaunchOptions } from "playwright-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { CHROMIUM_FLAG } from "../webgpu/softwareAdapter.mjs";
import { countPages } from "./countedPages.js";

export const CHROMIUM = {
  executablePath: process.env["HEADWISE_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
  timeout: WAIT_MILLISECONDS,
} satisfies LaunchOptions;

/**
 * Starts Chromium with time limits for slow machines, or takes the one that all files of a run share, if no arguments are
 * given. Counts what its pages run, if the coverage is measured.
 */
export async function launchChromium(...args: string[]): Promise<Browser> {
  const shared = args.length === 0 ? process.env["HEADWISE_SHARED_CHROMIUM"] : undefined;
  const started = shared
    ? chromium.connect(shared, { timeout: WAIT_MILLISECONDS })
    : chromium.launch({ ...CHROMIUM, args: [...CHROMIUM.args, ...args] });
  const browser = countPages(await started);
  return browser.on("context", (context) => context.setDefaultTimeout(WAIT_MILLISECONDS));
}

/** Starts Chromium with WebGPU on its software adapter. */
export const launchChromiumWithGpu = () => launchChromium("--enable-unsafe-webgpu", CHROMIUM_FLAG);
