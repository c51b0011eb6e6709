// How the tests start Chromium.

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

export const CHROMIUM = {
  executablePath: process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
  timeout: WAIT_MILLISECONDS,
};
