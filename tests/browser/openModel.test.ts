// Models by address in a page: a server of another origin, and the cache of the page.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type * as models from "headwise/models";
import { type Browser } from "playwright-core";

import { serveModel, type ModelServer } from "../web/modelServer.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, textFile } from "../web/smallModels.js";
import { launchChromium } from "./chromium.js";
import { openPage } from "./page.js";
import { serveDist } from "./staticServer.js";

const MIB = 2 ** 20;
const SIZE = 9 * MIB;
const WEIGHTS = Uint8Array.from({ length: SIZE }, (_, n) => (n * 31 + (n >> 8)) & 255);

const gpt2 = () => filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));

let browser: Browser;
let server: ModelServer;
beforeAll(async () => {
  browser = await launchChromium();
  server = await serveModel({ "config.json": new TextEncoder().encode("{}"), "model.safetensors": WEIGHTS });
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

test("a page reads a server of another origin once; the next visit finds the blocks in its cache", async () => {
  const { page, troubles, close } = await openPage(browser, { entry: "/models.js" });
  /** The sum of some bytes of the weights, and whether a name of a cache is there. */
  const visit = () =>
    page.evaluate(async (host) => {
      const { headwise } = window as unknown as { headwise: typeof models };
      const files = await headwise.openModel(headwise.hub("owner/name", { host }));
      const bytes = new Uint8Array(await files["model.safetensors"]!.slice(100_000, 9_000_000).arrayBuffer());
      return { sum: bytes.reduce((sum, byte) => sum + byte, 0), caches: await caches.keys() };
    }, server.url);
  const expected = WEIGHTS.subarray(100_000, 9_000_000).reduce((sum, byte) => sum + byte, 0);
  const blocks = () => server.asked.filter(({ range }) => range && !range.endsWith("-65535")).length;

  expect(await visit()).toEqual({ sum: expected, caches: ["headwise-models"] });
  expect(blocks()).toBe(3);
  expect((await visit()).sum).toBe(expected);
  expect(blocks()).toBe(3);

  server.behaviour = { version: "2" }; // what is kept of the older version is of no use
  expect((await visit()).sum).toBe(expected);
  expect(blocks()).toBe(6);
  const kept = await page.evaluate(async () => (await (await caches.open("headwise-models")).keys()).length);
  expect(kept).toBe(3);
  expect(troubles).toEqual([]);
  await close();
});

test("the page of the documents shows the likeliest next words", async () => {
  const [, listing] = /^```html next\.html\n(.*?)^```$/ms.exec(readFileSync("web/docs/your-model.md", "utf8"))!;
  const hub = await serveModel({ ...gpt2(), "tokenizer.json": textFile({}) });
  const library = `export class Tokenizer { encode = () => [3, 1, 4]; decode = ([token]) => "word" + token; }`;
  const imports = {
    "headwise/worker": "./worker.js",
    "headwise/models": "./models.js",
    "@huggingface/tokenizers": `data:text/javascript,${encodeURIComponent(library)}`,
  };
  const body =
    `<!doctype html><meta charset="utf-8" /><script type="importmap">${JSON.stringify({ imports })}</script>` +
    listing!.replace('"openai-community/gpt2"', `$&, { host: "${hub.url}" }`);
  const pages = await serveDist({}, { "next.html": { headers: { "content-type": "text/html" }, body } });
  const page = await browser.newPage();
  await page.goto(`${pages.url}next.html`);
  await page.waitForFunction(() => /word/.test((document.querySelector("output") as HTMLOutputElement).value));
  expect(await page.locator("output").innerText()).toMatch(/^word\d+( ·word\d+){4}$/);
  await page.close();
  pages.stop();
  await hub.stop();
});

test("a server that does not allow other origins is a NetworkError that says so", async () => {
  const { page, close } = await openPage(browser, { entry: "/models.js" });
  server.behaviour = {
    intercept: (_, response) => {
      response.removeHeader("access-control-allow-origin");
      return false;
    },
  };
  const error = await page.evaluate(async (host) => {
    const { headwise } = window as unknown as { headwise: typeof models };
    const { code, hint } = (await headwise
      .openModel(headwise.hub("owner/name", { host }))
      .catch((e: unknown) => e)) as {
      code: string;
      hint: string;
    };
    return { code, hint };
  }, server.url);
  expect(error.code).toBe("NETWORK");
  expect(error.hint).toContain("Access-Control-Allow-Origin");
  await close();
});
