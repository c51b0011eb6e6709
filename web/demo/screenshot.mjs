// node web/demo/screenshot.mjs: draws the lab's first screen for the README, firstScreen.png, and pictures/: the first screen of
// a phone and in the dark, and the seven scenes of the lesson. It shows dist-demo as it is: run `npm run build` before.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

import { addressOf } from "../../tests/bench/times/pages.mjs";

const at = (file) => fileURLToPath(new URL(file, import.meta.url));
const COMMAND = at("../../dist-demo/cli.js");
/** Without the panel below the picture. */
const SIZE = { width: 1366, height: 700 };
const PHONE = { width: 390, height: 844 };
const SCENES = [1, 2, 3, 4, 5, 6, 7];

const PICTURES = [
  { file: "firstScreen.png" },
  { file: "pictures/phone.png", viewport: PHONE, deviceScaleFactor: 2 },
  { file: "pictures/dark.png", colorScheme: "dark" },
  ...SCENES.map((scene) => ({ file: `pictures/scene${scene}.png`, address: `#/lesson?scene=${scene}`, scene })),
];

const browser = await chromium.launch({
  executablePath: process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const lab = spawn(process.execPath, [COMMAND, "--port", "0", "--text", "Hi."], { stdio: ["ignore", "pipe", "pipe"] });
try {
  const url = await addressOf(lab);
  for (const picture of PICTURES) await draw(url, picture);
} finally {
  await browser.close();
  lab.kill();
  await once(lab, "close");
}

async function draw(url, { file, address = "", scene, ...options }) {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light", reducedMotion: "reduce", ...options });
  await page.goto(`${url}${address}`);
  await page.waitForSelector("[data-room=lesson][aria-busy=false]");
  await page.locator("#engine summary", { hasText: "wasm" }).waitFor();
  if (scene) await page.locator(".scene-diagram").scrollIntoViewIfNeeded();
  await page.screenshot({ path: at(file) });
  await page.close();
  console.log(file);
}
