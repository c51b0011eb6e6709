// Opens pages of the repository, served with the headers for threads, in the browsers of this machine.

import { existsSync } from "node:fs";
import path from "node:path";

import { serveRepository } from "../bench/engines.mjs";
import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { firefox, webkit } from "../package/browsers.mjs";
import { CHROMIUM_FLAG } from "../webgpu/softwareAdapter.mjs";

const CHROMIUM = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";

/** Starts Chromium, and serves the repository, for `work`. */
export async function withChromium(work, ...flags) {
  const { chromium } = await import("playwright-core");
  const server = await serveRepository();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", ...flags] });
  try {
    return await work(browser, server.url);
  } finally {
    await browser.close();
    server.stop();
  }
}

const inChromium = (address) =>
  withChromium(
    async (browser, url) => {
      const page = await browser.newPage();
      page.setDefaultTimeout(WAIT_MILLISECONDS);
      await page.goto(url + address);
      await page.waitForFunction(() => "outcome" in globalThis);
      return { version: browser.version(), outcome: await page.evaluate(() => globalThis.outcome) };
    },
    ...["--enable-unsafe-webgpu", CHROMIUM_FLAG],
  );

const inOther = (opener) => async (address) => {
  const server = await serveRepository();
  try {
    return await opener.open(server.url + address);
  } finally {
    server.stop();
  }
};

/** The first of these files that is not here, as a reason. */
const missingOf = (needs) => () => {
  const file = needs.find((each) => !existsSync(each));
  return file && `${path.basename(file)} is not installed`;
};

/**
 * For each browser: `missing()` says why it cannot be used here, or is undefined; `open(address)` resolves to the browser's
 * version and what the page leaves in the global variable `outcome`.
 */
export const browsers = {
  Chromium: { missing: missingOf([CHROMIUM]), open: inChromium },
  Firefox: { missing: missingOf(firefox.needs), open: inOther(firefox) },
  WebKitGTK: { missing: missingOf(webkit.needs), open: inOther(webkit) },
};
