// The scenes in Chromium. Functions that are given to `evaluate` run in the page.

import { setTimeout as pause } from "node:timers/promises";

import { CHROMIUM_FLAG } from "../../webgpu/softwareAdapter.mjs";
import { faultyLoader } from "../../web/faultyLoader.mjs";
import { withChromium } from "../pages.mjs";
import { openFreezable } from "./frozenPage.mjs";

/** An empty isolated page with what scenes need, as global variables. */
async function openScenes(browser, url, hangs) {
  const page = await browser.newPage();
  const unhandled = [];
  page.on("pageerror", (error) => unhandled.push(error.message));
  page.setDefaultTimeout(2 * hangs);
  await page.goto(url);
  await page.evaluate(
    async ([loader, hangs]) => {
      const workers = [];
      window.Worker = class extends Worker {
        constructor(...options) {
          super(...options);
          workers.push(this);
        }
      };
      const [direct, inWorker, scenes] = await Promise.all(
        ["/dist/index.js", "/dist/worker.js", "/tests/trust/crash/scenes.mjs"].map((address) => import(address)),
      );
      const glueUrl = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
      Object.assign(window, { scenes, tools: { direct, inWorker, workers, glueUrl, gpu: navigator.gpu, hangs } });
    },
    [faultyLoader("js"), hangs],
  );
  return { page, unhandled };
}

/** Plays a scene. Resolves to { endings, unhandled }. */
export function playInChromium(scene, hangs) {
  const play = async (browser, url) => {
    const { page, unhandled } = await openScenes(browser, url, hangs);
    return {
      endings: await page.evaluate((name) => globalThis.scenes.SCENES[name](globalThis.tools), scene),
      unhandled,
    };
  };
  return withChromium(play, ...(scene === "device destroyed" ? ["--enable-unsafe-webgpu", CHROMIUM_FLAG] : []));
}

/** The page is hidden and frozen for two seconds while calls run. */
export function freezeInChromium(hangs) {
  return withChromium(async (browser, url) => {
    const page = await openFreezable(browser, url);
    await page.evaluate(`(async () => {
      const scenes = await import("/tests/trust/crash/scenes.mjs");
      const inWorker = await import("/dist/worker.js");
      globalThis.frozen = await scenes.callsBeforeFreezing({ inWorker, hangs: ${hangs} });
    })()`);
    await page.setState("frozen");
    await pause(2000);
    await page.setState("active");
    const { endings, states } = await page.evaluate("frozen()");
    if (states.join() !== "freeze,resume") throw new Error(`the page was not frozen: ${states.join()}`);
    return { endings, unhandled: [] };
  });
}
