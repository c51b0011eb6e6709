import { chromium, type Browser } from "playwright-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { CHROMIUM_FLAG } from "../webgpu/softwareAdapter.mjs";
import { countPages } from "./countedPages.js";
import { CHROMIUM } from "./launchOptions.mjs";
import { environmentWith, type SystemFont } from "./systemFont.js";
import { tellWhatPagesShow } from "./whatPagesShow.js";

/** Each file starts its own: a Chromium that many connect to does not give them what they download. */
export function launchChromium(...args: string[]): Promise<Browser> {
  return prepared(chromium.launch({ ...CHROMIUM, args: [...CHROMIUM.args, ...args] }));
}

/** Starts Chromium on a system whose only choice of a font is this one. */
export const launchChromiumWithFont = (font: SystemFont) =>
  prepared(chromium.launch({ ...CHROMIUM, env: environmentWith(font) }));

/**
 * A browser with time limits for slow machines. If a test fails, the log says what its pages show. If the coverage is
 * measured, what they run is counted.
 */
async function prepared(started: Promise<Browser>): Promise<Browser> {
  const browser = tellWhatPagesShow(countPages(await started));
  return browser.on("context", (context) => context.setDefaultTimeout(WAIT_MILLISECONDS));
}

/** Starts Chromium with WebGPU on its software adapter. */
export const launchChromiumWithGpu = () => launchChromium("--enable-unsafe-webgpu", CHROMIUM_FLAG);
