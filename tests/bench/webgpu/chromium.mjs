// Headless Chromium with WebGPU: one page that runs a module.

import { serveRepository } from "../engines.mjs";

export const CHROMIUM = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";
/** More flags for machines that need them, such as `--enable-features=Vulkan --use-angle=vulkan` for a GPU on Linux. */
const MORE_FLAGS = (process.env.HEADWISE_CHROMIUM_FLAGS ?? "").split(" ").filter(Boolean);
/** The developer features give exact timestamps. */
const FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--enable-webgpu-developer-features", ...MORE_FLAGS];

/** Opens a browser. `run` imports the module, a path of the repository, and calls its `run(configuration, report)`. */
export async function openPage(module = "/tests/bench/webgpu/run.mjs") {
  const { chromium } = await import("playwright-core");
  const server = await serveRepository();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  return {
    name: `Chromium ${browser.version()}`,
    async run(configuration, report) {
      const page = await browser.newPage();
      page.setDefaultTimeout(0);
      await page.exposeFunction("report", report);
      await page.goto(server.url.replace("127.0.0.1", "localhost"));
      return page.evaluate(
        async ([path, settings]) => {
          const { run } = await import(path);
          return run(settings, window.report);
        },
        [module, configuration],
      );
    },
    async close() {
      await browser.close();
      server.stop();
    },
  };
}
