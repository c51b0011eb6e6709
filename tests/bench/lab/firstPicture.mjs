// node tests/bench/lab/firstPicture.mjs: how long the lab takes to show its first picture, and how much the page
// moves until the room is ready. It measures dist-demo as it is: run `npm run build` before.

import { loadavg } from "node:os";

import { settingsOf, wholeNumber } from "../../../web/build/usage.mjs";
import { summary } from "../harness/statistics.mjs";
import { withLab } from "./labPage.mjs";

const SIZES = [
  { width: 1366, height: 768 },
  { width: 390, height: 844 },
];
/** A mobile connection: 10 Mbit each way, and 40 ms from the page to the server and back. */
const TEN_MBIT = { offline: false, latency: 40, downloadThroughput: 1.25e6, uploadThroughput: 1.25e6 };
const CONNECTIONS = [
  { name: "warm", goal: 500, isWarm: true },
  { name: "10 Mbit", goal: 1500, network: TEN_MBIT },
];
const LARGEST_SHIFT = 0.02;

const USAGE = `node tests/bench/lab/firstPicture.mjs [options]
  --rounds N    visits of each kind (default 7); the median counts
  --help        this text`;

const rounds = settingsOf(USAGE, (given) => wholeNumber("--rounds", given.rounds ?? "7", 1), { likely: "rounds" });
await withLab(async (browser, url) => {
  console.log(`Chromium ${browser.version()}, load ${loadavg()[0].toFixed(1)}, ${rounds} rounds; medians ± spread`);
  console.log("connection  size        picture           goal     room ready        layout shift");
  for (const connection of CONNECTIONS)
    for (const size of SIZES) console.log(lineOf(connection, size, await measure(browser, url, connection, size)));
});

async function measure(browser, url, { isWarm = false, network }, viewport) {
  const visits = [];
  for (let round = 0; round < rounds; ++round) {
    const context = await browser.newContext({ viewport });
    if (isWarm) await visit(context, url);
    visits.push(await visit(context, url, network));
    await context.close();
  }
  return visits;
}

/** One visit of the page: milliseconds until the picture is painted and until the room is ready, and the shift. */
async function visit(context, url, network) {
  const page = await context.newPage();
  await page.addInitScript(watch);
  if (network) {
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", network);
  }
  await page.goto(url);
  await page.waitForSelector("[data-room=lesson][aria-busy=false]");
  await page.waitForFunction(() => globalThis.watched.picture);
  const ready = await page.evaluate(() => performance.now());
  await page.waitForLoadState("networkidle"); // what comes late may move the page too
  const { picture, shift } = await page.evaluate(() => globalThis.watched);
  await page.close();
  return { picture, ready, shift };
}

/** Runs in the page, before its own scripts. */
function watch() {
  const watched = (globalThis.watched = { picture: 0, shift: 0 });
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) watched.shift += value;
  }).observe({ type: "layout-shift", buffered: true });
  // A frame is on the screen when the next one begins.
  const look = (wasThere) =>
    requestAnimationFrame((now) => {
      if (wasThere) watched.picture = now;
      else look(document.querySelector(".scene-diagram .strip") !== null);
    });
  look(false);
}

function lineOf({ name, goal }, { width, height }, visits) {
  const time = (what) => {
    const { median, spread } = summary(visits.map((each) => each[what]));
    return `${median.toFixed(0)} ± ${(100 * spread).toFixed(0)} %`.padEnd(17);
  };
  const shift = Math.max(...visits.map((each) => each.shift));
  return [
    name.padEnd(11),
    `${width}×${height}`.padEnd(11),
    `${time("picture")}`,
    `≤ ${goal}`.padEnd(8),
    time("ready"),
    `${shift.toFixed(3)} (goal < ${LARGEST_SHIFT})`,
  ].join(" ");
}
