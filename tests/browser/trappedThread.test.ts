// A thread of the pool traps or is terminated during a call. The trap is in WebAssembly itself: the module was changed for
// that.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Browser } from "playwright-core";

import { faultyLoader } from "../web/faultyLoader.mjs";
import { launchChromium } from "./chromium.js";
import { openPage, type TestWindow } from "./page.js";
import { ISOLATION } from "./staticServer.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

test.each(["/index.js", "/worker.js"])(
  "%s in an isolated page: the call rejects, so does the next; other instances and the page are well",
  async (entry) => {
    const { page, troubles, close } = await openPage(browser, { headers: ISOLATION, entry });
    const endings = await page.evaluate(async (loader) => {
      const { headwise, floats } = window as unknown as TestWindow;
      const x = floats(1, 8, 512, 64);
      const options = { variant: "simd", backend: "wasm", threads: 2 } as const;
      const ending = (hw: Awaited<ReturnType<typeof headwise.createAttention>>) =>
        hw.scaledDotProductAttention(x, x, x).then(
          () => "it ended well",
          (error: { code: string }) => error.code,
        );
      const glueUrl = URL.createObjectURL(new Blob([loader], { type: "text/javascript" }));
      const faulty = await headwise.createAttention({ ...options, wasm: { glueUrl } });
      const well = await headwise.createAttention(options);
      const endings = [await ending(faulty), await ending(faulty), await ending(well)];
      faulty.dispose();
      well.dispose();
      return endings;
    }, faultyLoader("js"));
    await close();
    expect(endings).toEqual(["INTERNAL", "INTERNAL", "it ended well"]);
    expect(troubles).toEqual([]);
  },
);

test.each(["during a call", "between two calls"])(
  "a thread that is terminated %s: that call rejects, so does the next, and dispose works",
  async (moment) => {
    const { page, troubles, close } = await openPage(browser, { headers: ISOLATION });
    const endings = await page.evaluate(async (isBetween) => {
      const { headwise, floats, recordWorkers } = window as unknown as TestWindow;
      const workers = recordWorkers();
      const hw = await headwise.createAttention({ backend: "wasm", threads: 2 });
      const ending = (x: ReturnType<typeof floats>) =>
        hw.scaledDotProductAttention(x, x, x).then(
          () => "it ended well",
          (error: { code: string }) => error.code,
        );
      const [small, large] = [floats(64, 64), floats(4, 16384, 64)]; // tens of seconds of work
      const first = await ending(small);
      const calls = isBetween ? [] : [ending(large), ending(small)];
      await new Promise((resolve) => setTimeout(resolve, 50)); // so that it usually computes already
      workers.at(-1)!.terminate();
      const endings = [first, ...(await Promise.all(calls)), await ending(small)];
      hw.dispose();
      return endings;
    }, moment === "between two calls");
    await close();
    const rejected = Array.from({ length: moment === "during a call" ? 3 : 1 }, () => "INTERNAL");
    expect(endings).toEqual(["it ended well", ...rejected]);
    expect(troubles).toEqual([]);
  },
);
