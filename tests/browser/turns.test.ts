// A loop of awaited calls lets the events of its page or worker in. Each loop ends by the event that it waits for; if no
// event came in, the test would reach its time limit.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type * as train from "headwise/train";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { openPage, type TestWindow } from "./page.js";
import { ISOLATION } from "./staticServer.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** What the page holds for the tests below. */
interface LoopWindow extends TestWindow {
  /** Steps of one token through a layer with a cache, until the signal aborts. Gives the name of the error. */
  readonly stepsUntil: (signal: AbortSignal, mostSteps?: number) => Promise<string>;
  loop: Promise<string>;
}

/** Runs in the page: makes a layer of an instance, with one thread if the page is not isolated. */
async function placeLoop(options: object): Promise<void> {
  const own = window as unknown as LoopWindow;
  const { headwise, floats } = own;
  const hw = await headwise.createAttention(options);
  const [Wq, Wk, Wv, Wo] = [floats(16, 16), floats(16, 16), floats(16, 16), floats(16, 16)];
  const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights: { Wq, Wk, Wv, Wo } });
  const x = floats(1, 8, 16);
  const stepsUntil = async (signal: AbortSignal, mostSteps = Infinity) => {
    try {
      for (let step = 0; step < mostSteps; ++step) await layer.forward(x, { causal: true, signal });
      return "no error";
    } catch (error) {
      return (error as Error).name;
    }
  };
  Object.assign(window, { stepsUntil });
}

describe.each([
  ["/index.js", "one thread", {}, {}],
  ["/index.js", "two threads", ISOLATION, { threads: 2 }],
  ["/inline.js", "one thread", {}, {}],
  ["/worker.js", "one thread", {}, {}],
])("in a page, a loop of layer.forward of %s with %s", (entry, _, headers, options) => {
  let page: Page;
  let troubles: string[];
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ page, troubles, close } = await openPage(browser, { headers, entry }));
    await page.evaluate(placeLoop, options);
  });
  afterAll(() => close());

  test("is aborted by a timer", async () => {
    const ending = await page.evaluate(() => {
      const { stepsUntil } = window as unknown as LoopWindow;
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 20);
      return stepsUntil(controller.signal);
    });
    expect(ending).toBe("AbortError");
  });

  test("is aborted by a click", async () => {
    await page.evaluate(() => {
      const own = window as unknown as LoopWindow;
      const controller = new AbortController();
      const button = document.createElement("button");
      button.textContent = "Stop";
      button.onclick = () => controller.abort();
      document.body.append(button);
      own.loop = own.stepsUntil(controller.signal);
    });
    await page.click("button");
    expect(await page.evaluate(() => (window as unknown as LoopWindow).loop)).toBe("AbortError");
  });

  test("keeps the frames of the page", async () => {
    const ending = await page.evaluate(() => {
      const { stepsUntil } = window as unknown as LoopWindow;
      const controller = new AbortController();
      let frames = 0;
      const frame = () => (++frames < 3 ? requestAnimationFrame(frame) : controller.abort());
      requestAnimationFrame(frame);
      return stepsUntil(controller.signal);
    });
    expect(ending).toBe("AbortError");
    expect(troubles).toEqual([]);
  });
});

test("with yield: false a loop lets no timer in", async () => {
  const { page, close } = await openPage(browser, {});
  await page.evaluate(placeLoop, { yield: false });
  const outcome = await page.evaluate(async () => {
    const { stepsUntil } = window as unknown as LoopWindow;
    let timers = 0;
    setTimeout(() => ++timers, 1);
    const ending = await stepsUntil(new AbortController().signal, 3000);
    return { ending, timers };
  });
  await close();
  expect(outcome).toEqual({ ending: "no error", timers: 0 });
});

test("a training loop keeps the frames of the page", async () => {
  const { page, close } = await openPage(browser, {});
  const outcome = await page.evaluate(async () => {
    const { headwise, floats } = window as unknown as TestWindow;
    const address = "/train.js";
    const { adamW } = (await import(address)) as typeof train;
    const hw = await headwise.createAttention();
    const weights = { Wq: floats(16, 16), Wk: floats(16, 16), Wv: floats(16, 16), Wo: floats(16, 16) };
    const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
    const optimizer = adamW(weights, { learningRate: 1e-3 });
    const x = floats(1, 8, 16);
    let frames = 0;
    const frame = () => (++frames, requestAnimationFrame(frame));
    requestAnimationFrame(frame);
    let steps = 0;
    for (; frames < 3; ++steps) {
      const { saved } = await layer.forward(x, { causal: true, save: true });
      const { gradients } = await layer.backward(saved, x, { returns: { gradients: true } });
      optimizer.step(gradients);
      await layer.update(weights);
    }
    return { isFinite: Number.isFinite(weights.Wq.data[0]), steps };
  });
  await close();
  expect(outcome).toEqual({ isFinite: true, steps: expect.any(Number) });
  expect(outcome.steps).toBeGreaterThan(0);
});

describe("in a worker of the page's own, a loop of layer.forward", () => {
  test.each(["index.js", "inline.js"])("of %s sees a message", async (file) => {
    const { page, close } = await openPage(browser, {});
    const ending = await page.evaluate((name) => {
      const source = `
        import { createAttention } from "${location.origin}/${name}";
        const hw = await createAttention();
        const floats = (...shape) => ({ data: new Float32Array(shape.reduce((n, x) => n * x, 1)).fill(0.1), shape });
        const weights = { Wq: floats(16, 16), Wk: floats(16, 16), Wv: floats(16, 16), Wo: floats(16, 16) };
        const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
        const controller = new AbortController();
        onmessage = () => controller.abort();
        postMessage("running");
        try {
          for (;;) await layer.forward(floats(1, 8, 16), { signal: controller.signal });
        } catch (error) {
          postMessage(error.name);
        }`;
      const script = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(script, { type: "module" });
      return new Promise<string>((resolve, reject) => {
        worker.onmessage = ({ data }) => {
          if (data === "running") worker.postMessage("stop");
          else resolve(data as string);
        };
        worker.onerror = ({ message }) => reject(new Error(message));
      });
    }, file);
    await close();
    expect(ending).toBe("AbortError");
  });
});
