// Times of pages in headless Chromium.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { faultyLoader } from "../../web/faultyLoader.mjs";
import { serveRepository } from "../engines.mjs";

const [CORE, WORKER] = ["/dist/index.js", "/dist/worker.js"];
const LAB = fileURLToPath(new URL("../../../dist-demo/cli.js", import.meta.url));
const FIRST_PICTURE = "[data-room=lesson][aria-busy=false]";

/** A case that a function of `inPage.mjs` measures. */
const inPage = (name, goal, work, given) => ({
  name,
  goal,
  async open({ browser, site }) {
    const page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    await page.goto(site.url);
    const call = async ([work, given]) => (await import("/tests/bench/times/inPage.mjs"))[work](...given);
    const values = given();
    return { sample: () => page.evaluate(call, [work, values]), close: () => page.close() };
  },
});

export const PAGE_CASES = [
  inPage("longest task: headwise", 50, "longestTask", () => [CORE, { threads: 2 }]),
  inPage("longest task: headwise/worker", 50, "longestTask", () => [WORKER, {}]),
  inPage("rejects: killed worker, page", 100, "killedWorker", () => [WORKER]),
  inPage("rejects: trap, headwise", 2000, "trappedThread", () => [CORE, faultyLoader("js")]),
  inPage("rejects: trap, headwise/worker", 2000, "trappedThread", () => [WORKER, faultyLoader("js")]),
  inPage("hover 512×512: a frame", 25, "hoverFrame", () => []),
  { name: "lab: first picture, warm", goal: 1000, open: openLab },
];

export async function openPages() {
  const { chromium } = await import("playwright-core");
  const executablePath = process.env.HEADWISE_CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const site = await serveRepository();
  return {
    name: `Chromium ${browser.version()}`,
    ...{ browser, site },
    async close() {
      await browser.close();
      site.stop();
    },
  };
}

/** Opens the lab in a browser that has opened it before, until the first picture. */
async function openLab({ browser }) {
  const lab = spawn(process.execPath, [LAB, "--port", "0", "--text", "Hi."], { stdio: ["ignore", "pipe", "pipe"] });
  const url = await addressOf(lab);
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  return {
    async sample() {
      await page.goto("about:blank");
      const start = performance.now();
      await page.goto(`${url}#/sentence`);
      await page.waitForSelector(FIRST_PICTURE);
      return performance.now() - start;
    },
    async close() {
      await page.close();
      lab.kill();
      await once(lab, "close");
    },
  };
}

/** The address that the command says when it serves the lab. */
export function addressOf(lab) {
  let said = "";
  return new Promise((resolve, reject) => {
    for (const stream of [lab.stdout, lab.stderr])
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
        const found = /http:\/\/localhost:\d+\//.exec(said);
        if (found) resolve(found[0]);
      });
    lab.once("close", () => reject(new Error(`the lab ended: ${said}`)));
  });
}
