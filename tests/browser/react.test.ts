// headwise/react in Chromium. The scenes are in reactScenes.ts.

import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { type Scenes } from "./reactScenes.js";
import { serveDist } from "./staticServer.js";

let browser: Browser;
let page: Page;
let server: Awaited<ReturnType<typeof serveDist>>;
const troubles: string[] = [];

beforeAll(async () => {
  browser = await launchChromium();
  server = await serveDist({});
  page = await browser.newPage();
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && troubles.push(message.text()));
  const scenes = await bundledScenes();
  await page.route("**/reactScenes.js", (route) => route.fulfill({ body: scenes, contentType: "text/javascript" }));
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  await page.goto(server.url);
});
afterAll(async () => {
  await browser.close();
  server.stop();
});

/** The scenes with the built package and React's build for development, which warns. It is served beside dist/wasm. */
async function bundledScenes(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path.resolve("tests/browser/reactScenes.ts")],
    ...{ bundle: true, format: "esm", target: "es2022", write: false },
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return outputFiles[0]!.text;
}

/** Plays a scene in the page and gives what was seen there, and what the page complained of. */
async function seenIn<Name extends keyof Scenes>(name: Name) {
  troubles.length = 0;
  const seen = await page.evaluate(async (scene) => {
    const address = "/reactScenes.js";
    const { scenes } = (await import(address)) as { readonly scenes: Scenes };
    return scenes[scene]();
  }, name);
  return { seen: seen as Awaited<ReturnType<Scenes[Name]>>, troubles: [...troubles] };
}

test("in StrictMode, where effects run twice, one instance is made and one result is computed", async () => {
  expect(await seenIn("strictMode")).toEqual({
    seen: { states: ["none loading computing", "0.67 wasm"], created: 1, computed: 1, disposed: 1 },
    troubles: [],
  });
});

test("arrays and options that are made in every render are computed again only when a number changes", async () => {
  expect(await seenIn("inlineInputs")).toEqual({
    seen: { computed: 2, called: 2 },
    troubles: [],
  });
});

test("a component that is unmounted while it computes aborts its call, renders no more, and the instance is disposed", async () => {
  expect(await seenIn("unmountedWhileComputing")).toEqual({
    seen: { isAborted: true, computed: 0, renders: 0, disposed: 1 },
    troubles: [],
  });
});

test("a changed input aborts the call before, and the old result stays until the new one is there", async () => {
  expect(await seenIn("changedInputs")).toEqual({
    seen: {
      states: ["none loading computing", "0.67 wasm", "0.67 computing wasm", "1.00 wasm"],
      aborted: [true, false],
      computed: 2,
    },
    troubles: [],
  });
});

test("an error has its class and code, keeps the result before, and goes with the next input", async () => {
  expect(await seenIn("errors")).toEqual({
    seen: ["none loading computing", "none INVALID_SHAPE", "none loading computing", "0.67 wasm"],
    troubles: [],
  });
});

test("options that are none are refused by name", async () => {
  expect(await seenIn("refusedOptions")).toEqual({
    seen: "useAttention: options must be an object, got null",
    troubles: [],
  });
});

test("an engine that could not be loaded is loaded again for the next input", async () => {
  expect(await seenIn("lostEngine")).toEqual({
    seen: ["none loading computing", "none no network", "none loading computing", "0.94 wasm"],
    troubles: [],
  });
});

test("nothing is loaded or computed while an input is absent, and the result before stays", async () => {
  expect(await seenIn("absentInputs")).toEqual({
    seen: { created: 0, states: ["none", "none loading computing", "0.67 wasm"], called: 1 },
    troubles: [],
  });
});

test("a call that asks for no output needs no value", async () => {
  expect(await seenIn("withoutValues")).toEqual({ seen: "0.67 0.67", troubles: [] });
});

test("all components of a page share one instance, also after one of them has gone", async () => {
  expect(await seenIn("shared")).toEqual({
    seen: { instances: 1, states: ["0.67 wasm", "1.00 wasm"] },
    troubles: [],
  });
});

test("AttentionMap sets properties when their values change, hears events, and gives the element by ref", async () => {
  const { seen, troubles } = await seenIn("map");
  const { first, second, third, fourth, heads, markup, gone } = seen;
  expect(first).toEqual({ queries: ["a", "b"], keys: ["c", "d"], causal: true, head: 1, shape: [2, 2, 2] });
  expect(second).toEqual({ queries: ["e", "f"], keys: ["c", "d"], causal: false, head: 0, shape: [2, 2, 2] });
  expect(third).toMatchObject({ keys: ["e", "f"], rows: 2 });
  expect(fourth).toMatchObject({ queries: [], keys: [], shape: [2, 2, 2] });
  expect({ heads, gone, troubles }).toEqual({ heads: [0], gone: null, troubles: [] });
  expect(markup).toMatch(/^<attention-map class="wide"[^>]*><\/attention-map>$/);
});

test("attributes are what was given, and go when it is left out", async () => {
  expect(await seenIn("attributes")).toEqual({
    seen: [
      '<attention-map title="Layer 1" id="map" translate="no" hidden="" tabindex="0"></attention-map>',
      "<attention-map></attention-map>",
      '<attention-map title="Layer 2" lang="en"></attention-map>',
      "<attention-map></attention-map>",
    ],
    troubles: [],
  });
});

test("a property with a wrong value reaches the error boundary", async () => {
  expect((await seenIn("refusedProperty")).seen).toMatch(/palette must be "auto" or .*got "rainbow"/);
});

test("what a server has rendered is hydrated without a warning", async () => {
  expect(await seenIn("hydration")).toEqual({
    seen: {
      server: '<main>loading<attention-map class="wide"></attention-map></main>',
      label: "Layer 1",
      troubles: [],
    },
    troubles: [],
  });
});
