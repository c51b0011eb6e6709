// node tests/attention-conformance/runner/chromium.mjs ADAPTER [--filter NAME] [--few COUNT] [--memory]: measures one
// engine in headless Chromium, with WebGPU on its software adapter where there is no GPU. It prints one check a line as JSON.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { chromium } from "playwright-core";

import { CHROMIUM_FLAG } from "./chromiumFlag.mjs";
import { adapterFile, versionOf } from "./packages.mjs";
import { serveSuite } from "./server.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    filter: { type: "string", default: "" },
    few: { type: "string" },
    memory: { type: "boolean", default: false },
  },
});
const file = adapterFile(positionals[0]);
const { packages } = await import(pathToFileURL(file).href);
const versions = Object.fromEntries(packages.map((name) => [name, versionOf(name)]));

const peaks = new Map(); // bytes, by the process id
const server = await serveSuite(path.dirname(file));
const browser = await chromium.launch({
  executablePath: process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-unsafe-webgpu", CHROMIUM_FLAG],
});
try {
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.error(message.text().slice(0, 300)));
  const session = await browser.newBrowserCDPSession();
  await page.exposeFunction("report", (line) => void process.stdout.write(`${line}\n`));
  await page.exposeFunction("peakBytes", () => peakOf(session));
  await page.goto(server.url);
  await page.evaluate((settings) => import("/runner/page.mjs").then(({ run }) => run(settings)), {
    adapter: path.basename(file),
    versions,
    platform: `Chromium ${browser.version()}`,
    ...values,
  });
} finally {
  await browser.close();
  server.stop();
}

/** The sum of what Chromium's processes have taken at most, on Linux. Processes that have ended count too. */
async function peakOf(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  for (const { id } of processInfo) peaks.set(id, Math.max(peaks.get(id) ?? 0, await peakOfProcess(id)));
  return [...peaks.values()].reduce((sum, peak) => sum + peak, 0);
}

async function peakOfProcess(id) {
  const status = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}
