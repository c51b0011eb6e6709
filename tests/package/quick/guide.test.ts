// The listings of the guide that are files of a project, each in its place. (Those that are whole programs run with the
// README's, in tests/web/readme.test.ts.)

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { firstRows } from "../expected.js";
import { closeTo, expectThreaded, outcomeAt } from "../pages.js";
import { pageProject } from "../pageProject.js";
import { withViteServer } from "../viteServer.js";

const guide = readFileSync("web/docs/guide.md", "utf8");

/** The listings that say which file they are. */
const listings = new Map(
  [...guide.matchAll(/^```\w+ ([\w.]+)\n(.*?)^```/gms)].map(([, name, text]) => [name!, text!] as const),
);

const project = pageProject();
const place = (listing: string, name = listing) =>
  writeFileSync(path.join(project.consumer.folder, name), listings.get(listing)!);

test("there are the listings that are tried here, and no others", () => {
  expect([...listings.keys()]).toEqual(["page", "vite.config.js", "service.js", "CMakeLists.txt"]);
});

test("the page with nothing else computes with threads", async () => {
  place("page", "guide.html");
  const server = await serveFolder(project.consumer.folder, ISOLATION);
  const page = await project.browser.newPage();
  await page.goto(`${server.url}guide.html`);
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
