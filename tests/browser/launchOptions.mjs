// How the tests start Chromium.

import { existsSync } from "node:fs";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const COMPLETE = "/usr/bin/chromium";
/** Chromium without a window opens a page with half the work. Debian has it as a package of its own. */
const INSTALLED = ["/usr/bin/chromium-headless-shell", COMPLETE];

export const CHROMIUM = {
  executablePath: process.env.HEADWISE_CHROMIUM ?? INSTALLED.find(existsSync),
  args: ["--no-sandbox"],
  timeout: WAIT_MILLISECONDS,
};

/** Chromium with all that belongs to a browser: `chromium-headless-shell` has no extensions. */
export const COMPLETE_CHROMIUM = { ...CHROMIUM, executablePath: process.env.HEADWISE_CHROMIUM ?? COMPLETE };
