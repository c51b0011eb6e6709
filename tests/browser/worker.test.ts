import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type * as formulas from "headwise/formula";
import { type Browser, type Page } from "playwright-core";

import { launchChromium, launchChromiumWithGpu } from "./chromium.js";
import { openPage, type Headwise, type TestWindow } from "./page.js";
import { ISOLATION, serveDist } from "./staticServer.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

/** Loads an instance and computes. Returns the outcome. */
function outcomeIn(page: Page) {
  return page.evaluate(async () => {
    const { headwise, floats } = window as unknown as TestWindow;
    try {
      const hw = await headwise.createAttention({ threads: 2 });
      const x = floats(2, 9, 8);
      const { output } = await hw.scaledDotProductAttention(x, x, x);
      hw.dispose();
      return { threads: hw.report.threads, reason: hw.report.reasons["threads"], output: Array.from(output.data) };
    } catch (error) {
      const { name, code, message, hint } = error as InstanceType<Headwise["HeadwiseError"]>;
      return { name, code, message, hint };
    }
  });
}

async function outcome(opening: Parameters<typeof openPage>[1]) {
  const { page, troubles, close } = await openPage(browser, opening);
  const result = await outcomeIn(page);
  await close();
  expect(troubles).toEqual([]);
  return result;
}

describe("headwise/worker", () => {
  const entry = "/worker.js";

  test("computes with threads in an isolated page, with one in any other, the bits that headwise computes", async () => {
    const { output } = await outcome({ headers: ISOLATION });
    expect(output).toHaveLength(2 * 9 * 8);
    expect(await outcome({ headers: ISOLATION, entry })).toEqual({ threads: 2, reason: undefined, output });
    const alone = await outcome({ entry });
    expect(alone).toMatchObject({ threads: 1, output });
    expect(alone.reason).toMatch(/^page is not cross-origin isolated[^;]*$/); // and does not say that calls block
  });

  test("loads the engine once for all workers of a page", async () => {
    const { page, troubles, close } = await openPage(browser, { headers: ISOLATION, entry });
    let requests = 0;
    page.on("request", (request) => void (requests += Number(request.url().endsWith(".wasm"))));
    const results = [await outcomeIn(page), await outcomeIn(page)];
    await close();
    expect(troubles).toEqual([]);
    expect(results[1]).toEqual(results[0]);
    expect(requests).toBe(1);
  });

  test("leaves the page awake while it computes, also where it has one thread", async () => {
    const { page, close } = await openPage(browser, { entry });
    const heard = await page.evaluate(async () => {
      const { headwise, floats, heardDuring } = window as unknown as TestWindow;
      const hw = await headwise.createAttention();
      const x = floats(8, 2048, 64);
      await hw.scaledDotProductAttention(x, x, x); // the engine compiles
      const heard = await heardDuring(() => hw.scaledDotProductAttention(x, x, x));
      hw.dispose();
      return heard;
    });
    await close();
    expect(heard).toBeGreaterThan(100);
  });

  test("rejects all calls when its worker is terminated in the middle of one; the next call starts another", async () => {
    const { page, troubles, close } = await openPage(browser, { entry });
    const { endings, started, firsts } = await page.evaluate(async () => {
      const { headwise, floats, recordWorkers, inTime } = window as unknown as TestWindow;
      const workers = recordWorkers();
      const locks = async () => (await navigator.locks.query()).held!.map(({ name }) => name!);
      const hw = await headwise.createAttention();
      const opened = workers.length; // a worker that stops while it opens is replaced
      const large = floats(4, 16384, 64); // tens of seconds of work: it cannot end before
      const calls = [large, floats(2, 4)].map((x) =>
        hw.scaledDotProductAttention(x, x, x).then(
          () => "it ended well",
          (error: { code: string }) => error.code,
        ),
      );
      await new Promise((resolve) => setTimeout(resolve, 50)); // so that it usually computes already
      const former = await locks();
      workers.at(-1)!.terminate();
      const endings = await inTime("the end of the calls", Promise.all(calls));
      const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
      const first = async () => (await hw.scaledDotProductAttention(ones, ones, ones)).output.data[0];
      const firsts = [await inTime("the call after the end", first())];
      // Ends the worker as a browser that needs memory would: without the Worker object, while no call is pending. Its
      // lock becomes free, and this page gets it after those who asked before. (The browser may keep the lock of the
      // busy worker a while.)
      const own = (await locks()).filter((name) => !former.includes(name));
      Worker.prototype.terminate.call(workers.at(-1));
      for (const name of own)
        await inTime(
          `the lock ${name}`,
          navigator.locks.request(name, () => undefined),
        );
      firsts.push(await inTime("the call after the second end", first()));
      hw.dispose();
      return { endings, started: workers.length - opened, firsts };
    });
    await close();
    expect(endings).toEqual(["WORKER_LOST", "WORKER_LOST"]);
    expect({ started, firsts }).toEqual({ started: 2, firsts: [1, 1] });
    expect(troubles).toEqual([]);
  });

  test("computes with WebGPU in the worker, loading that engine there", async () => {
    const withGpu = await launchChromiumWithGpu();
    const { page, close } = await openPage(withGpu, { entry });
    const result = await page.evaluate(async () => {
      const { headwise } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ backend: "webgpu" });
      const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
      const { output } = await hw.scaledDotProductAttention(ones, ones, ones);
      const weights = Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name) => [name, { ...ones, shape: [4, 2] }]));
      const layer = await hw.multiHeadAttention({ numHeads: 1, weights: { ...weights, Wo: ones } });
      const cache = await layer.kvCache();
      const step = await hw.record((recorder) => ({
        y: recorder.layer(layer, recorder.input("x", [1, 4]), { cache }),
      }));
      const { y } = await step.run({ x: [[1, 1, 1, 1]] });
      const steps = { y: Array.from(y.data), length: cache.length };
      hw.dispose();
      return { backend: hw.report.backend, first: output.data[0], steps };
    });
    await close();
    await withGpu.close();
    const steps = { y: [8, 8, 8, 8], length: 1 }; // values of 4, times two rows of ones
    expect(result).toEqual({ backend: "webgpu", first: 1, steps });
  });

  test("loads what backend auto needs only for it: layers and caches lie where they are placed, formulas are computed", async () => {
    const withGpu = await launchChromiumWithGpu();
    const { page, close } = await openPage(withGpu, { entry });
    const requests: string[] = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    const resultsOf = (backend: "auto" | "wasm") =>
      page.evaluate(async (backend) => {
        const { headwise, floats } = window as unknown as TestWindow;
        const hw = await headwise.createAttention({ backend });
        const [x, other] = [floats(2, 9, 8), floats(9, 8)];
        const file = "/formula.js";
        const { formula } = (await import(file)) as typeof formulas;
        const options = { score: formula("s - 0.25 * abs(q - k)") };
        const { output } = await hw.scaledDotProductAttention(x, x, x, options);
        const weights = Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name) => [name, floats(8, 8)]));
        const placement = backend === "auto" ? "webgpu" : "wasm";
        const layer = await hw.multiHeadAttention({ numHeads: 2, weights, placement });
        const cache = await layer.kvCache({ placement });
        const rows = (await layer.forward(other, { cache, ...options })).output;
        hw.dispose();
        return {
          places: [layer.placement, cache.placement],
          output: Array.from(output.data),
          rows: Array.from(rows.data),
        };
      }, backend);
    const wasm = await resultsOf("wasm");
    expect(requests.filter((name) => name.endsWith("-engine.js"))).toEqual([]);
    const auto = await resultsOf("auto");
    await close();
    await withGpu.close();
    expect(requests.filter((name) => name.endsWith("-engine.js"))).toEqual(["/auto-engine.js", "/webgpu-engine.js"]);
    expect([wasm.places, auto.places]).toEqual([
      ["wasm", "wasm"],
      ["webgpu", "webgpu"],
    ]);
    expect(auto.output).toEqual(wasm.output); // so small a call is computed by wasm
    auto.rows.forEach((number, index) => expect(number).toBeCloseTo(wasm.rows[index]!, 4));
  });

  test("runs under a strict content security policy", async () => {
    const policy = { "Content-Security-Policy": "script-src 'self' 'wasm-unsafe-eval'" };
    expect(await outcome({ headers: { ...ISOLATION, ...policy }, entry })).toMatchObject({ threads: 2 });
  });

  test.each([
    ["script-src 'self'", /forbids WebAssembly/, /'wasm-unsafe-eval'/],
    ["worker-src 'none'", /the engine's worker did not start/, /worker-src/],
  ])("names what the policy %s forbids", async (policy, message, hint) => {
    const error = await outcome({ headers: { "Content-Security-Policy": policy }, entry });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_BLOCKED" });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });
});

const NONE = { status: 404, body: "" };

describe.each(["index.js", "worker.js"])("%s on another origin than the page", (file) => {
  const shared = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
  let elsewhere: Awaited<ReturnType<typeof serveDist>>;
  beforeAll(async () => {
    elsewhere = await serveDist(shared);
  });
  afterAll(() => elsewhere.stop());

  test.each([
    [2, ISOLATION],
    [1, {}],
  ])("computes with %i threads", async (threads, headers) => {
    expect(await outcome({ headers, entry: elsewhere.url + file })).toMatchObject({ threads });
  });

  test.each([
    ["computes", {}],
    ["finds no module", { "wasm/headwise.simd.wasm": NONE, "wasm/headwise.relaxed.wasm": NONE }],
    ["finds a script that throws", { "worker-entry.js": { headers: shared, body: "throw 1" } }],
  ])("frees the copies that it made of scripts, also if it %s", async (_, answers) => {
    const server = await serveDist(shared, answers);
    const { page, close } = await openPage(browser, { headers: ISOLATION, entry: server.url + file });
    await page.evaluate(() => {
      const kept = Object.assign(window, { kept: new Set<string>() }).kept;
      const [createObjectURL, revokeObjectURL] = [URL.createObjectURL.bind(URL), URL.revokeObjectURL.bind(URL)];
      URL.createObjectURL = (object) => {
        const address = createObjectURL(object);
        kept.add(address);
        return address;
      };
      URL.revokeObjectURL = (address) => {
        kept.delete(address);
        revokeObjectURL(address);
      };
    });
    await outcomeIn(page);
    await page.waitForFunction(() => (window as unknown as { readonly kept: Set<string> }).kept.size === 0);
    await close();
    server.stop();
  });
});

test("headwise/inline needs no network, no worker, no other file", async () => {
  const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";
  const result = await outcome({ headers: { "Content-Security-Policy": policy }, entry: "/inline.js" });
  expect(result).toMatchObject({
    threads: 1,
    reason: expect.stringMatching(
      /^headwise\/inline starts no worker: import headwise for more threads; .*headwise\/worker/,
    ),
  });
});

test("headwise/inline takes a module that the page has compiled", async () => {
  const { page, troubles, close } = await openPage(browser, { entry: "/inline.js" });
  const first = await page.evaluate(async () => {
    const { headwise } = window as unknown as TestWindow;
    const module = await WebAssembly.compileStreaming(fetch("/wasm/headwise.inline.wasm"));
    const hw = await headwise.createAttention({ wasm: { module } });
    const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
    return (await hw.scaledDotProductAttention(ones, ones, ones)).output.data[0];
  });
  await close();
  expect(first).toBe(1);
  expect(troubles).toEqual([]);
});

test("in a worker of the page's own, one thread blocks no page and the report does not say so", async () => {
  const { page, close } = await openPage(browser, {});
  const reason = await page.evaluate(() => {
    const source = `
      import { createAttention } from "${location.origin}/index.js";
      postMessage((await createAttention()).report.reasons.threads);`;
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });
    return new Promise<string>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data as string);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  });
  await close();
  expect(reason).toMatch(/^page is not cross-origin isolated[^;]*$/);
});
