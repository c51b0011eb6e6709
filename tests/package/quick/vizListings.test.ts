// The two listings of the page on headwise/viz, and the README's map, in pages of plain files.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { serveFolder } from "../../browser/staticServer.js";
import { withFileNames } from "../pages.js";
import { pageProject } from "../pageProject.js";

const [html, source] = [...readFileSync("web/docs/viz.md", "utf8").matchAll(/^```(?:html|ts)\n(.*?)^```/gms)].map(
  (match) => match[1]!,
);

const [readme] = /(?<=^```html\n).*?(?=^```$)/ms.exec(readFileSync("README.md", "utf8"))!;

/** What the second listing leaves to its reader: names, and 12 heads of as many tokens as it speaks of. */
const GIVEN = `<!doctype html><meta charset="utf-8" />
  <script>
    const floats = (length) => ({
      data: Float32Array.from({ length: 12 * length * 2 }, (_, k) => Math.sin(k)),
      shape: [1, 12, length, 2],
    });
    let query, key, value;
  </script>`;

/** As much of the elements and of the listing's names as is looked at here. */
interface MapElement extends Element {
  readonly probs?: { readonly shape: readonly number[] };
  readonly source: { rows(head: number, from: number, to: number): Promise<Float32Array> };
}

const project = pageProject();
const troubles: string[] = [];
let page: Page;
let server: Awaited<ReturnType<typeof serveFolder>>;
beforeAll(async () => {
  writeFileSync(path.join(project.consumer.folder, "viz.html"), GIVEN + withFileNames(html!));
  server = await serveFolder(project.consumer.folder, {});
  page = await project.browser.newPage();
  page.on("pageerror", ({ message }) => troubles.push(message));
  await page.goto(`${server.url}viz.html`);
});
afterAll(() => server.stop());

test("the elements get what was computed, and draw it", async () => {
  for (const name of ["attention-map", "attention-heads"]) {
    const element = page.locator(name);
    await page.waitForFunction((tag) => (document.querySelector(tag) as MapElement).probs, name);
    expect(await element.evaluate((node) => (node as unknown as MapElement).probs!.shape)).toEqual([1, 4, 3, 3]);
    expect(await element.locator("canvas").first().isVisible()).toBe(true);
  }
  expect(troubles).toEqual([]);
});

test("the README's listing draws its map", async () => {
  writeFileSync(path.join(project.consumer.folder, "readme.html"), `<!doctype html>${withFileNames(readme)}`);
  const own = await project.browser.newPage();
  own.on("pageerror", ({ message }) => troubles.push(message));
  await own.goto(`${server.url}readme.html`);
  await own.waitForFunction(() => (document.querySelector("attention-map") as MapElement).probs);
  await own.locator(".plot > canvas").waitFor(); // it is drawn in the next frame
  expect(troubles).toEqual([]);
  await own.close();
});

test("rows on demand are those of the formula", async () => {
  const length = 300; // of the listing's 8,192 each look takes a second on one thread
  await page.addScriptTag({
    type: "module",
    content: withFileNames(`
      import { createAttention } from "headwise";
      const hw = await createAttention();
      const element = document.querySelector("attention-map");
      query = key = value = floats(${length});
      ${source!.replaceAll("8192", String(length))}
      globalThis.ready = true;`),
  });
  await page.waitForFunction(() => "ready" in globalThis);
  const rows = await page.evaluate(async () => {
    const { source } = document.querySelector("attention-map") as unknown as MapElement;
    return Array.from(await source.rows(3, 5, 7));
  });
  expect(rows).toHaveLength(2 * length);
  const [row5, row6] = [rows.slice(0, length), rows.slice(length)];
  for (const [row, last] of [
    [row5, 5],
    [row6, 6],
  ] as const) {
    expect(row.reduce((sum, p) => sum + p)).toBeCloseTo(1, 5);
    expect(row.slice(last + 1).every((p) => p === 0)).toBe(true);
  }
});
