// The late part of the wasm module in Chromium: it is loaded by the first call that needs it, also among waiting calls.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { openPage, type TestWindow } from "./page.js";
import { ISOLATION } from "./staticServer.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

const LATE_FILE = "wasm/headwise.simd.late.wasm";

/**
 * The source of a function that makes an instance and calls that need the late part, three of them at once with plain calls
 * between them, and returns what they gave. Another instance is disposed meanwhile. It runs in pages and in their workers.
 */
const COMPUTE = `async ({ createAttention }, options) => {
  const x = (...shape) => ({
    data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent) }, (_, k) => Math.sin(k + 1)),
    shape,
  });
  const [q, w] = [x(2, 70, 16), x(16, 12)];
  const asked = { causal: true, returns: { probs: true, entropy: true, topK: { k: 2 } } };
  const lse = { causal: true, returns: { output: true, lse: true } };
  const hash = ({ buffer }) => new Uint8Array(buffer).reduce((sum, byte) => Math.imul(sum ^ byte, 16777619), 1);
  const bits = (result) => (result.data ? hash(result.data) : Object.values(result).map(bits).join(" "));
  const hw = await createAttention(options);
  const other = await createAttention(options);
  const ending = other.linear(q, w).then(() => "DONE", ({ code }) => code);
  const called = [
    hw.scaledDotProductAttention(q, q, q, asked),
    hw.scaledDotProductAttention(q, q, q, lse),
    hw.linear(q, w),
    hw.scaledDotProductAttention(q, q, q, lse),
  ];
  other.dispose();
  const results = await Promise.all(called);
  const gradients = await hw.attentionBackward({ query: q, key: q, value: q, ...results[1], dOutput: q, causal: true });
  const again = await hw.scaledDotProductAttention(q, q, q, asked);
  const { threads } = hw.report;
  hw.dispose();
  return { threads, ending: await ending, results: [...results, gradients, again].map(bits) };
}`;

interface Outcome {
  readonly threads: number;
  readonly ending: string;
  /** A hash of each result's bytes. */
  readonly results: readonly unknown[];
}

const inPage = (page: Page, entry: string, options: object): Promise<Outcome> =>
  page.evaluate(`import("${entry}").then((headwise) => (${COMPUTE})(headwise, ${JSON.stringify(options)}))`);

/** The same in a worker of the page's own. */
const inWorker = (page: Page, options: object): Promise<Outcome> =>
  page.evaluate(
    ({ compute, given }) => {
      const source = `
        import * as headwise from "${location.origin}/index.js";
        (${compute})(headwise, ${given}).then(postMessage, (error) => postMessage({ ending: String(error) }));`;
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      const worker = new Worker(url, { type: "module" });
      return new Promise<Outcome>((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data as Outcome);
        worker.onerror = ({ message }) => reject(new Error(message));
      });
    },
    { compute: COMPUTE, given: JSON.stringify(options) },
  );

const STRICT = { "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };
const options = { backend: "wasm", variant: "simd", threads: 2 };

const places: readonly [
  string,
  { readonly headers: Readonly<Record<string, string>>; readonly threads: number },
  (page: Page) => Promise<Outcome>,
][] = [
  ["a window", { headers: ISOLATION, threads: 2 }, async (page) => inPage(page, "/index.js", options)],
  [
    "a window with a strict policy",
    { headers: { ...ISOLATION, ...STRICT }, threads: 2 },
    async (page) => inPage(page, "/index.js", options),
  ],
  ["a window that is not isolated", { headers: {}, threads: 1 }, async (page) => inPage(page, "/index.js", options)],
  ["a worker of the page's own", { headers: ISOLATION, threads: 2 }, async (page) => inWorker(page, options)],
  ["headwise/worker", { headers: ISOLATION, threads: 2 }, async (page) => inPage(page, "/worker.js", options)],
  [
    "headwise/worker in a page that is not isolated",
    { headers: {}, threads: 1 },
    async (page) => inPage(page, "/worker.js", options),
  ],
];

describe.each(places)("%s", (_where, { headers, threads }, compute) => {
  test("computes what the whole module computes, six times over", async () => {
    const { page, troubles, close } = await openPage(browser, { headers });
    const whole = await inPage(page, "/inline.js", {});
    for (let round = 0; round < 6; ++round) {
      const outcome = await compute(page);
      expect(outcome.threads).toBe(threads);
      expect(["DONE", "DISPOSED"]).toContain(outcome.ending);
      expect(outcome.results).toEqual(whole.results);
    }
    await close();
    expect(troubles).toEqual([]);
  });
});

test.each(["/index.js", "/worker.js"])(
  "%s loads it once for all instances of a page, and not before it is needed",
  async (entry) => {
    const { page, close } = await openPage(browser, { headers: ISOLATION, entry });
    let requests = 0;
    page.on("request", (request) => void (requests += Number(request.url().endsWith(LATE_FILE))));
    await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ variant: "simd", threads: 2 });
      await hw.scaledDotProductAttention(floats(2, 9, 8), floats(2, 9, 8), floats(2, 9, 8));
      hw.dispose();
    });
    expect(requests).toBe(0);
    for (let round = 0; round < 2; ++round)
      await page.evaluate(async () => {
        const { headwise, floats } = window as unknown as TestWindow;
        const hw = await headwise.createAttention({ variant: "simd", threads: 2 });
        await hw.linear(floats(9, 8), floats(8, 8));
        hw.dispose();
      });
    await close();
    expect(requests).toBe(1);
  },
);

test.each(["/index.js", "/worker.js"])("%s: a file that is missing is an error, and heals", async (entry) => {
  const answers: Record<string, { status: number; body: string }> = { [LATE_FILE]: { status: 404, body: "none" } };
  const { page, close } = await openPage(browser, { headers: ISOLATION, entry, answers });
  await page.evaluate(async () => {
    const { headwise } = window as unknown as TestWindow;
    Object.assign(window, { hw: await headwise.createAttention({ variant: "simd", threads: 2 }) });
  });
  const call = () =>
    page.evaluate(async () => {
      const { hw, floats } = window as unknown as TestWindow & {
        hw: Awaited<ReturnType<TestWindow["headwise"]["createAttention"]>>;
      };
      const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
      const code = await hw.linear(floats(2, 4), floats(4, 2)).then(
        () => "it was computed",
        ({ code }: { code: string }) => code,
      );
      const { output } = await hw.scaledDotProductAttention(ones, ones, ones);
      return [code, output.data[0]];
    });
  expect(await call()).toEqual(["ASSET_NOT_FOUND", 1]);
  delete answers[LATE_FILE];
  expect(await call()).toEqual(["it was computed", 1]);
  await close();
});
