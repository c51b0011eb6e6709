// The listings of web/docs that are files of a project, each in its place. (Those that are whole programs run in
// tests/web/readme.test.ts, those of TypeScript in typescript.test.ts, those on headwise/viz in vizListings.test.ts and
// matrix/jsx.test.ts, those on React in reactListings.test.ts, the one on WebGPU in tests/webgpu/listings.test.ts, the one with
// TensorFlow.js in matrix/tensorflow.test.ts, the one on induction heads in tests/web/inductionExample.test.ts, figures of the lab in
// tests/browser/lab/embed.test.ts and matrix/embed.test.ts, the one that opens a model in tests/browser/openModel.test.ts.)

import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { firstRows } from "../expected.js";
import { listings } from "../listings.js";
import { closeTo, expectThreaded, outcomeAt } from "../pages.js";
import { pageProject } from "../pageProject.js";
import { run } from "../programs.js";
import { withViteServer } from "../viteServer.js";

const project = pageProject();
const place = (listing: string, name = listing) =>
  writeFileSync(path.join(project.consumer.folder, name), listings.get(listing)!);

test("every listing that is a file is one that a test takes", () => {
  const here = ["page", "service.js", "vite.config.js", "CMakeLists.txt"];
  const forTests = ["causal.test.js", "jest.config.js", "server.js", "bundle.mjs"];
  const elsewhere = [
    "webgpu.mjs",
    "weight.mjs",
    "recorded.mjs",
    "tensorflow.mjs",
    "induction.mjs",
    "tsconfig.json",
    "example.ts",
  ];
  const forFrameworks = ["preact.d.ts", "solid.d.ts", "svelte.d.ts", "vue.d.ts"];
  const inReact = ["Picture.tsx", "App.tsx"];
  const figures = ["embed.html", "frame.html", "Page.tsx", "reactFigure.d.ts", "Page.svelte", "svelteFigure.d.ts"];
  const taken = [
    ...here,
    ...forTests,
    ...elsewhere,
    ...forFrameworks,
    ...inReact,
    ...figures,
    "notebook.html",
    "next.html",
  ];
  expect([...listings.keys()].sort()).toEqual(taken.sort());
});

test("the page without a bundler computes with threads", async () => {
  place("page", "page.html");
  const server = await serveFolder(project.consumer.folder, ISOLATION);
  const page = await project.browser.newPage();
  await page.goto(`${server.url}page.html`);
  const output = page.locator("output", { hasText: "threads" });
  expect(await output.textContent()).toMatch(/^[2-8] threads: 1,0,0\.330/);
  await page.close();
  server.stop();
});

test("Vite's configuration isolates the page", async () => {
  const { folder } = project.consumer;
  place("vite.config.js");
  copyFileSync(path.join(folder, "mainCore.js"), path.join(folder, "main.js"));
  expectThreaded(await withViteServer(folder, {}, (url) => outcomeAt(project.browser, url)));
});

test("the service worker answers", async () => {
  place("service.js");
  const server = await serveFolder(project.consumer.folder, {});
  const page = await project.browser.newPage();
  await page.goto(`${server.url}package.json`);
  const rows = await page.evaluate(async () => {
    await navigator.serviceWorker.register("./service.js", { type: "module" });
    const { active } = await navigator.serviceWorker.ready;
    const { port1, port2 } = new MessageChannel();
    active!.postMessage({ data: new Float32Array([1, 0, 0, 1]), shape: [2, 2] }, [port2]);
    return new Promise<number[]>((resolve) => {
      port1.onmessage = ({ data }: MessageEvent<{ data: Float32Array }>) => resolve(Array.from(data.data));
    });
  });
  const [, , weight, rest] = firstRows;
  expect(rows).toEqual(closeTo([rest!, weight!, weight!, rest!]));
  await page.close();
  server.stop();
});

test("the CMake project is the one that is built in cppConsumer.test.ts", () => {
  expect(listings.get("CMakeLists.txt")).toBe(readFileSync("tests/package/consumers/cpp/CMakeLists.txt", "utf8"));
});

test("Jest runs the test, by headwise/inline and by headwise mapped to it", async () => {
  const folder = path.join(project.consumer.folder, "jest");
  mkdirSync(folder);
  writeFileSync(path.join(folder, "package.json"), "{}");
  const file = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
  file("jest.config.js", listings.get("jest.config.js")!);
  file("inline.test.js", listings.get("causal.test.js")!);
  file("mapped.test.js", listings.get("causal.test.js")!.replace("headwise/inline", "headwise"));
  await run(process.execPath, [path.resolve("node_modules/jest/bin/jest.js")], { cwd: folder });
});

test.each([
  ["with headwise/inline inside", "headwise/inline", ""],
  ["with headwise outside", "headwise", 'external: ["headwise"],'],
])("a server is bundled %s", async (_, entry, options) => {
  const { folder } = project.consumer;
  const esbuild = path.join(folder, "node_modules/esbuild");
  symlinkSync(path.resolve("node_modules/esbuild"), esbuild);
  writeFileSync(path.join(folder, "server.js"), listings.get("server.js")!.replace("headwise/inline", entry));
  writeFileSync(path.join(folder, "bundle.mjs"), listings.get("bundle.mjs")!.replace("bundle: true,", `$& ${options}`));
  await run(process.execPath, ["bundle.mjs"], { cwd: folder });
  rmSync(esbuild);
  expect(await run(process.execPath, ["server.cjs"], { cwd: folder })).toBe("2 × 2\n");
});
