// node tests/bench/lab/lessonFrames.mjs: for each scene of the lesson, the longest task of the page's thread and
// the frames a second while the scene opens, with a processor that is so many times slower (4). Chromium slows tasks down in
// real time: measure on a quiet machine. With a slowdown of 1, tasks have the times of the processor, which other programs
// change little. It measures dist-demo as it is.

import { loadavg } from "node:os";

import { decimalNumber, settingsOf } from "../../../web/build/usage.mjs";
import { withLab } from "./labPage.mjs";

const SCENES = 7;
/** How long a scene is watched from its key on. */
const WATCHED_MS = 2000;
const GOAL_MS = 50;

const USAGE = `node tests/bench/lab/lessonFrames.mjs [options]
  --slowdown N    so many times slower (default 4)
  --help          this text`;

const slowdown = settingsOf(USAGE, (given) => decimalNumber("--slowdown", given.slowdown ?? "4", 1, 100), {
  likely: "slowdown",
});
await withLab(async (browser, url) => {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
  await page.goto(`${url}#/lesson`);
  await page.waitForSelector("[data-room=lesson][aria-busy=false]");
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  console.log(`Chromium ${browser.version()}, load ${loadavg()[0].toFixed(1)}, processor ${slowdown} times slower`);
  console.log(`scene  longest task (goal ≤ ${GOAL_MS} ms)  frames a second`);
  await page.locator(".scene-diagram").click({ position: { x: 2, y: 2 } });
  for (let scene = 2; scene <= SCENES; ++scene) {
    const { longest, frames } = await watched(page, session);
    const isIn = new URLSearchParams((await page.evaluate(() => globalThis.location.hash)).split("?")[1]);
    if (isIn.get("scene") !== String(scene)) throw new Error(`the key did not open scene ${scene}`);
    console.log(`${String(scene).padEnd(6)} ${`${longest.toFixed(0)} ms`.padEnd(31)} ${frames.toFixed(0)}`);
  }
});

/** Opens the next scene by its key. */
async function watched(page, session) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  session.on("Tracing.dataCollected", collect);
  const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
  const traceConfig = { includedCategories: ["toplevel", "__metadata"] };
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
  await page.keyboard.press("ArrowRight");
  const frames = await page.evaluate(countFrames, WATCHED_MS);
  await session.send("Tracing.end");
  await complete;
  session.off("Tracing.dataCollected", collect);
  return { longest: longestTask(events), frames };
}

/** Runs in the page. */
function countFrames(duration) {
  return new Promise((resolve) => {
    const start = performance.now();
    let frames = 0;
    const next = (now) => {
      if (now - start >= duration) return resolve((1000 * frames) / (now - start));
      frames++;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
}

/** The longest task of the page's own thread, in milliseconds of the processor. */
function longestTask(events) {
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const isOwn = ({ name, args }) => name === "thread_name" && args.name === "CrRendererMain";
  const own = new Set(events.filter(isOwn).map(thread));
  const tasks = events.filter((event) => event.name.endsWith("RunTask") && own.has(thread(event)));
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1000));
}
