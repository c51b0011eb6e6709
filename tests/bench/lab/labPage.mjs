import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { addressOf } from "../times/pages.mjs";

const LAB = fileURLToPath(new URL("../../../dist-demo/cli.js", import.meta.url));

/** Calls `use` with a headless Chromium and the address of the lab, as dist-demo has it. Ends both. */
export async function withLab(use) {
  const { chromium } = await import("playwright-core"); // which takes a second, and `--help` needs none of it
  const browser = await chromium.launch({
    executablePath: process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const lab = spawn(process.execPath, [LAB, "--port", "0", "--text", "Hi."], { stdio: ["ignore", "pipe", "pipe"] });
  try {
    await use(browser, await addressOf(lab));
  } finally {
    await browser.close();
    lab.kill();
    await once(lab, "close");
  }
}
