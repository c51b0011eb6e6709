// The site that `npm run docs` builds.

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";

import { ERROR_CODES } from "../../../web/src/errors/errors.js";
import { run } from "../programs.js";

const site = path.resolve("build/docs");

let pages: Map<string, string>;
beforeAll(async () => {
  await run(process.execPath, ["web/build/docs.mjs"]);
  const names = (await readdir(site, { recursive: true })).filter((name) => name.endsWith(".html"));
  const read = async (name: string) => [path.join(site, name), await readFile(path.join(site, name), "utf8")] as const;
  pages = new Map(await Promise.all(names.map(read)));
});

/** Where the links of a page lead, as a file and perhaps a place in it. Links to other sites are left out. */
function linksOf(page: string, html: string): { file: string; anchor: string }[] {
  const addresses = [...html.matchAll(/\s(?:href|src)="([^"]+)"/g)].map((match) => match[1]!);
  return addresses
    .filter((address) => !/^[a-z]+:/.test(address))
    .map((address) => {
      const [name, anchor = ""] = address.split("#");
      return { file: name ? path.join(path.dirname(page), decodeURIComponent(name)) : page, anchor };
    });
}

test("has the guides, an index of each entry's API, and the demo", async () => {
  const guides = (await readdir("web/docs")).map((name) => path.parse(name).name).filter((name) => name !== "index");
  const entries = [
    "index",
    "worker",
    "inline",
    "webgpu",
    "formula",
    "onnx",
    "train",
    "models",
    "inspect",
    "viz",
    "react",
  ];
  const expected = [
    ...guides.map((name) => `documents/${name}.html`),
    ...entries.map((name) => `modules/${name}.html`),
    ...["index.html", "demo/index.html"],
  ];
  expect(expected.filter((name) => !pages.has(path.join(site, name)))).toEqual([]);
});

test("the index names every guide", async () => {
  const names = (await readdir("web/docs")).filter((name) => name !== "index.md");
  const index = await readFile("web/docs/index.md", "utf8");
  expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([]);
});

test("hints of errors lead to sections", () => {
  const page = pages.get(path.join(site, "documents/troubleshooting.html"))!;
  expect(ERROR_CODES.filter((code) => !page.includes(`id="${code.toLowerCase()}"`))).toEqual([]);
});

test("no link leads nowhere", () => {
  const broken: string[] = [];
  for (const [page, html] of pages)
    for (const { file, anchor } of linksOf(page, html)) {
      const isRoute = anchor.startsWith("/"); // the demo's own
      const hasPlace =
        !anchor || isRoute || !pages.has(file) || pages.get(file)!.includes(`id="${decodeURIComponent(anchor)}"`);
      if (!existsSync(file) || !hasPlace)
        broken.push(`${path.relative(site, page)} → ${path.relative(site, file)}#${anchor}`);
    }
  expect(pages.size).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});
