// node web/demo/screenshot.mjs: draws firstScreen.png, the lab's first screen, for the README. It shows dist-demo as it is:
// run `npm run build` before.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

import { addressOf } from "../../tests/bench/times/pages.mjs";

const at = (file) => fileURLToPath(new URL(file, import.meta.url));
const [COMMAND, PICTURE] = [at("../../dist-demo/cli.js"), at("firstScreen.png")];
/** Without the panel below the picture. */
const SIZE = { width: 1366, height: 700 };

const browser = await chromium.launch({
  executablePath: process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const lab = spawn(process.execPath, [COMMAND, "--port", "0", "--text", "Hi."], { stdio: ["ignore", "pipe", "pipe"] });
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" });
  await page.goto(await addressOf(lab));
  await page.waitForSelector("[data-room=lesson][aria-busy=false]");
  await page.locator("#engine summary", { hasText: "wasm" }).waitFor();
  await page.screenshot({ path: PICTURE });
  console.log(PICTURE);
} finally {
  await browser.close();
  lab.kill();
  await once(lab, "close");
}
