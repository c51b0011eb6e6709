// Headless Chromium with WebGPU: one page that runs the harness.

import { serveRepository } from "../engines.mjs";

/** More flags for machines that need them, such as `--enable-features=Vulkan --use-angle=vulkan` for a GPU on Linux. */
const MORE_FLAGS = (process.env.HEADWISE_CHROMIUM_FLAGS ?? "").split(" ").filter(Boolean);
/** The developer features give exact timestamps. */
const FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--enable-webgpu-developer-features", ...MORE_FLAGS];

/* global window */
export async function openPage() {
  const { chromium } = await import("playwright-core");
  const server = await serveRepository();
  const executablePath = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  return {
    name: `Chromium ${browser.version()}`,
    async run(configuration, report) {
      const page = await browser.newPage();
      page.setDefaultTimeout(0);
      await page.exposeFunction("report", report);
      await page.goto(server.url.replace("127.0.0.1", "localhost"));
      await page.evaluate(async (settings) => {
        const { run } = await import("/tests/bench/webgpu/run.mjs");
        await run(settings, window.report);
      }, configuration);
    },
    async close() {
      await browser.close();
      server.stop();
    },
  };
}
