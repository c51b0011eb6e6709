import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser, type Page } from "playwright-core";

import { type CreateOptions } from "headwise";

import { launchChromium } from "./chromium.js";
import { openPage, type Headwise, type TestWindow } from "./page.js";
import { ISOLATION, serveDist } from "./staticServer.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

describe("a window that is cross-origin isolated", () => {
  let page: Page;
  let troubles: string[];
  let close: () => Promise<void>;
  beforeAll(async () => ({ page, troubles, close } = await openPage(browser, { headers: ISOLATION })));
  afterAll(() => close());

  test("computes the same bits on 1, 2 and 3 threads", async () => {
    const outputs = await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const results: number[][] = [];
      for (const threads of [1, 2, 3]) {
        const hw = await headwise.createAttention({ threads });
        if (hw.report.threads !== threads) throw new Error(`${hw.report.threads} threads, not ${threads}`);
        const x = floats(3, 70, 20);
        const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true });
        results.push(Array.from(output.data));
        hw.dispose();
      }
      return results;
    });
    expect(outputs[0]).toHaveLength(3 * 70 * 20);
    expect(outputs[1]).toEqual(outputs[0]);
    expect(outputs[2]).toEqual(outputs[0]);
  });

  test("stays awake during a call of more than one thread, and with one is told that it does not", async () => {
    const { heard, reason, reasonOfOne } = await page.evaluate(async () => {
      const { headwise, floats, heardDuring } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ threads: 2 });
      const x = floats(16, 2048, 64);
      await hw.scaledDotProductAttention(x, x, x); // the engine compiles
      const heard = await heardDuring(() => hw.scaledDotProductAttention(x, x, x));
      hw.dispose();
      const one = await headwise.createAttention({ threads: 1 });
      one.dispose();
      return { heard, reason: hw.report.reasons["threads"], reasonOfOne: one.report.reasons["threads"] };
    });
    expect(heard).toBeGreaterThan(100);
    expect(reason).toBeUndefined();
    expect(reasonOfOne).toMatch(/block the page.*headwise\/worker/);
  });

  test("that disposes an instance ends the call in flight and those that wait", async () => {
    const endings = await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ threads: 2 });
      const x = floats(16, 2048, 64);
      const ending = (call: Promise<unknown>) =>
        call.then(
          () => "it ended well",
          (error: unknown) => (headwise.DisposedError.is(error) ? error.message : String(error)),
        );
      const calls = [hw.scaledDotProductAttention(x, x, x), hw.scaledDotProductAttention(x, x, x)].map(ending);
      hw.dispose();
      return Promise.all(calls);
    });
    expect(endings).toEqual([
      "scaledDotProductAttention: the instance was disposed while the call ran",
      "scaledDotProductAttention: the instance was disposed",
    ]);
  });

  test("survives calls that do not fit the memory, in flight on the engine's own thread", async () => {
    const outcome = await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ threads: 2, maximumMemory: 32 * 2 ** 20 });
      const large = floats(1, 100_000, 64);
      const small = floats(1, 8, 64);
      const error: unknown = await hw.scaledDotProductAttention(large, large, large).catch((e: unknown) => e);
      const { output } = await hw.scaledDotProductAttention(small, small, small);
      hw.dispose();
      return [headwise.OutOfMemoryError.is(error), Number.isFinite(output.data[0])];
    });
    expect(outcome).toEqual([true, true]);
  });

  test("complains of nothing on the console", () => {
    expect(troubles).toEqual([]);
  });
});

describe("a window that cannot have threads has one, and says why", () => {
  /** What an instance of a page says of itself, and a number that it computes. */
  async function outcomeIn(headers: Readonly<Record<string, string>>, prepare: () => unknown = () => undefined) {
    const { page, troubles, close } = await openPage(browser, { headers });
    await page.evaluate(prepare);
    const { report, first } = await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const hw = await headwise.createAttention({ threads: 4 });
      const ones = { data: new Float32Array(12).fill(1), shape: [3, 4] };
      const { output } = await hw.scaledDotProductAttention(floats(2, 4), floats(3, 4), ones);
      return { report: hw.report, first: output.data[0] };
    });
    await close();
    expect(report.threads).toBe(1);
    expect(first).toBeCloseTo(1, 6); // probabilities of three equal values sum to 1, except for rounding
    expect(troubles).toEqual([]);
    return report.reasons["threads"];
  }

  test("it is not isolated", async () => {
    expect(await outcomeIn({})).toMatch(/page is not cross-origin isolated \(COOP\/COEP\)/);
  });

  test("it is isolated, and has no SharedArrayBuffer, as in WebKitGTK", async () => {
    const reason = await outcomeIn(ISOLATION, () => Reflect.deleteProperty(globalThis, "SharedArrayBuffer"));
    expect(reason).toMatch(/^this browser has no SharedArrayBuffer/);
  });

  test("it is isolated, and its origin is opaque", async () => {
    const readable = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
    const sandbox = { "Content-Security-Policy": "sandbox allow-scripts" };
    expect(await outcomeIn({ ...ISOLATION, ...readable, ...sandbox })).toMatch(/^page has an opaque origin/);
  });
});

describe("under a content security policy", () => {
  const load = async (policy: string, entry = "/index.js", options: CreateOptions = { threads: 2 }) => {
    const { page, close } = await openPage(browser, {
      headers: { ...ISOLATION, "Content-Security-Policy": policy },
      entry,
    });
    const outcome = await page.evaluate((given) => {
      const { headwise } = window as unknown as TestWindow;
      return headwise.createAttention(given).then(
        ({ report }) => ({ threads: report.threads }),
        (error: unknown) => {
          const { code, message, hint } = error as InstanceType<Headwise["HeadwiseError"]>;
          return { code, message, hint };
        },
      );
    }, options);
    await close();
    return outcome;
  };

  test("that allows scripts of its own and WebAssembly, threads run: nothing is evaluated", async () => {
    expect(await load("script-src 'self' 'wasm-unsafe-eval'")).toEqual({ threads: 2 });
  });

  test("that forbids workers, the error says so and that one thread needs none", async () => {
    expect(await load("worker-src 'none'")).toMatchObject({
      code: "ASSET_BLOCKED",
      message: expect.stringMatching(/the engine did not start: a worker of it could not be loaded$/),
      hint: expect.stringMatching(/worker-src policy.*`threads: 1`/),
    });
  });

  test("that forbids the copy of a loader of another origin, the error says so and that one thread needs none", async () => {
    const elsewhere = await serveDist({ "Access-Control-Allow-Origin": "*" });
    const scripts = `script-src 'self' ${new URL(elsewhere.url).origin} 'wasm-unsafe-eval'`;
    const [forbidden, allowed] = await Promise.all([
      load(scripts, `${elsewhere.url}index.js`),
      load(`${scripts} blob:`, `${elsewhere.url}index.js`),
    ]);
    elsewhere.stop();
    expect(forbidden).toMatchObject({
      code: "ASSET_BLOCKED",
      message: expect.stringMatching(/\.js could not be loaded: the page's content security policy forbids the copy/),
      hint: expect.stringMatching(/^Allow it with script-src blob:; or set `threads: 1`/),
    });
    expect(allowed).toEqual({ threads: 2 });
  });

  test("that allows no loader of another origin, the error names what to list", async () => {
    const elsewhere = await serveDist({ "Access-Control-Allow-Origin": "*" });
    const { origin } = new URL(elsewhere.url);
    const outcome = await load("script-src 'self' 'wasm-unsafe-eval'", "/index.js", { threads: 1, wasm: { baseUrl: `${origin}/wasm/` } }); // oxfmt-ignore
    elsewhere.stop();
    expect(outcome).toMatchObject({
      code: "ASSET_BLOCKED",
      message: expect.stringMatching(/forbids it \(script-src\)$/),
      hint: expect.stringContaining(`Allow it with script-src ${origin}.`),
    });
  });

  test("that forbids WebAssembly, the error says so and how to allow it", async () => {
    const outcome = await load("script-src 'self'");
    expect(outcome).toMatchObject({ code: "ASSET_BLOCKED", hint: expect.stringContaining("'wasm-unsafe-eval'") });
  });
});

describe("in a page that requires Trusted Types", () => {
  /** The outcome of createAttention in a page, with or without a default policy of the page. */
  async function outcomeOf(entry: string, options: { threads: number }, allowing = false) {
    const headers = { ...ISOLATION, "Content-Security-Policy": "require-trusted-types-for 'script'" };
    const { page, troubles, close } = await openPage(browser, { headers, entry });
    if (allowing) await page.evaluate(allowOwnScripts);
    const outcome = await page.evaluate(async (given) => {
      const { headwise } = window as unknown as TestWindow;
      try {
        const hw = await headwise.createAttention(given);
        const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
        const { output } = await hw.scaledDotProductAttention(ones, ones, ones);
        hw.dispose();
        return { threads: hw.report.threads, value: output.data[0] };
      } catch (error) {
        const { name, code, message, hint } = error as InstanceType<Headwise["HeadwiseError"]>;
        return { name, code, message, hint };
      }
    }, options);
    await close();
    expect(troubles).toEqual([]);
    return outcome;
  }

  /** Runs in the page. */
  function allowOwnScripts(): void {
    const { trustedTypes } = window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } };
    const createScriptURL = (url: string) => (new URL(url, location.href).origin === location.origin ? url : null);
    trustedTypes.createPolicy("default", { createScriptURL });
  }

  test.each(["/index.js", "/worker.js"])(
    "workers of %s are forbidden: the error says how to allow them",
    async (entry) => {
      expect(await outcomeOf(entry, { threads: 2 })).toMatchObject({
        name: "AssetError",
        code: "ASSET_BLOCKED",
        message: expect.stringMatching(/^createAttention: .* did not start: TypeError: .*TrustedScriptURL/),
        hint: expect.stringMatching(/require-trusted-types-for 'script'.*policy named "default".*createScriptURL/),
      });
    },
  );

  test.each(["/index.js", "/worker.js"])("a default policy lets the threads of %s run", async (entry) => {
    expect(await outcomeOf(entry, { threads: 2 }, true)).toEqual({ threads: 2, value: 1 });
  });

  test("one thread of headwise needs no policy", async () => {
    expect(await outcomeOf("/index.js", { threads: 1 })).toEqual({ threads: 1, value: 1 });
  });
});

describe.each(["/index.js", "/worker.js"])("%s with files in a folder of the page's", (entry) => {
  test.each(["/wasm", "wasm/", "http"])("at %s computes with threads", async (given) => {
    const { page, troubles, close } = await openPage(browser, { headers: ISOLATION, entry });
    const result = await page.evaluate(async (address) => {
      const { headwise } = window as unknown as TestWindow;
      const baseUrl = address === "http" ? new URL("/wasm/", location.href) : address;
      const hw = await headwise.createAttention({ threads: 2, wasm: { baseUrl } });
      const ones = { data: new Float32Array(8).fill(1), shape: [2, 4] };
      const { output } = await hw.scaledDotProductAttention(ones, ones, ones);
      hw.dispose();
      return { threads: hw.report.threads, value: output.data[0] };
    }, given);
    await close();
    expect(result).toEqual({ threads: 2, value: 1 });
    expect(troubles).toEqual([]);
  });
});

test("a worker of an isolated page computes with threads, taking part itself", async () => {
  const { page, close } = await openPage(browser, { headers: ISOLATION });
  const [threads, first] = await page.evaluate(() => {
    const source = `
      import { createAttention } from "${location.origin}/index.js";
      const hw = await createAttention({ threads: 2 });
      const x = { data: new Float32Array(64).fill(1), shape: [8, 8] };
      const { output } = await hw.scaledDotProductAttention(x, x, x);
      postMessage([hw.report.threads, output.data[0]]);`;
    const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })), { type: "module" });
    return new Promise<number[]>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data as number[]);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  });
  await close();
  expect([threads, first]).toEqual([2, 1]);
});

describe("the engine's file", () => {
  /** By which functions the page compiled the engine's two parts, and how many bytes it heard of the first. */
  async function compiledBy(contentType?: string): Promise<{ readonly by: string[]; readonly loaded: number }> {
    const { page, close } = await openPage(browser, {});
    if (contentType !== undefined)
      await page.route("**/*.wasm", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, headers: { ...response.headers(), "content-type": contentType } });
      });
    const found = await page.evaluate(async () => {
      const { headwise, floats } = window as unknown as TestWindow;
      const by: string[] = [];
      for (const name of ["compile", "compileStreaming"] as const) {
        const original = WebAssembly[name] as (from: never) => Promise<WebAssembly.Module>;
        const counted = (from: never) => {
          by.push(name);
          return original(from);
        };
        Object.assign(WebAssembly, { [name]: counted });
      }
      let loaded = 0;
      const hw = await headwise.createAttention({ threads: 1, onProgress: (progress) => (loaded = progress.loaded) });
      const x = floats(1, 4, 8);
      await hw.scaledDotProductAttention(x, x, x, { returns: { entropy: true } }); // needs the late part
      hw.dispose();
      return { by, loaded };
    });
    await close();
    return found;
  }

  test("is compiled while it arrives, and so is its late part; its bytes are reported", async () => {
    const { by, loaded } = await compiledBy();
    expect(by).toEqual(["compileStreaming", "compileStreaming"]);
    expect(loaded).toBeGreaterThan(100_000);
  });

  test("is compiled when all of it is there, if its content type is not that of WebAssembly", async () => {
    const { by, loaded } = await compiledBy("application/octet-stream");
    expect(by).toEqual(["compile", "compile"]);
    expect(loaded).toBeGreaterThan(100_000);
  });
});
