// How the tests start Chromium.

import { existsSync } from "node:fs";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

/** Chromium without a window opens a page with half the work. Debian has it as a package of its own. */
const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

export const CHROMIUM = {
  executablePath: process.env.HEADWISE_CHROMIUM ?? INSTALLED.find(existsSync),
  args: ["--no-sandbox"],
  timeout: WAIT_MILLISECONDS,
};
