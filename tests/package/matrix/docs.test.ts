// The site that `npm run docs` builds, here in a folder whose name means something in patterns of files.

import { existsSync, readdirSync } from "node:fs";
import { cp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type * as axeCore from "axe-core";
import type { Browser, Locator, Page } from "playwright-core";

import { ERROR_CODES } from "../../../web/src/base/errors.js";
import { launchChromium } from "../../browser/chromium.js";
import { serveFolder } from "../../browser/staticServer.js";
import { freshClone } from "../freshClone.js";
import { run } from "../programs.js";

let [clone, site, said] = ["", "", ""];
let pages: Map<string, string>;
beforeAll(async () => {
  clone = await freshClone("headwise (copy) [1] & ü ");
  site = path.join(clone, "build/docs");
  await symlink(path.resolve("node_modules"), path.join(clone, "node_modules"));
  for (const built of ["build", "dist", "dist-demo"])
    if (existsSync(built)) await cp(built, path.join(clone, built), { recursive: true });
  await rm(site, { recursive: true, force: true });
  said = await run("sh", ["-c", `"${process.execPath}" web/build/docs.mjs 2>&1`], { cwd: clone });
  const names = (await readdir(site, { recursive: true })).filter((name) => name.endsWith(".html"));
  const read = async (name: string) => [path.join(site, name), await readFile(path.join(site, name), "utf8")] as const;
  pages = new Map(await Promise.all(names.map(read)));
});
afterAll(() => rm(clone, { recursive: true, force: true }));

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

test("is made without a warning of TypeDoc", () => {
  expect(said).not.toContain("[warning]");
});

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

test("the start page has one heading of the first level", () => {
  expect(pages.get(path.join(site, "index.html"))!.match(/<h1\b/g)).toHaveLength(1);
});

describe("listings run in the page", () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serveFolder>>;
  beforeAll(async () => {
    browser = await launchChromium();
    server = await serveFolder(site, {});
  });
  afterAll(async () => {
    await browser.close();
    server.stop();
  });

  const guides = readdirSync("web/docs").map((name) => path.parse(name).name);

  /** What a listing prints depends on the engine that runs it, if it says so. */
  const saysTheEngine = (program: string) => /\bhw\.(report|plan|gpu)\b/.test(program);
  const promisedBy = (program: string) =>
    [...program.matchAll(/\/\/ prints: (.*)$/gm)].map((match) => match[1]!.trim());

  async function open(guide: string): Promise<{ page: Page; listings: readonly Listing[] }> {
    const page = await browser.newPage();
    await page.goto(`${server.url}${guide === "index" ? "index" : `documents/${guide}`}.html`);
    const all = await page.locator(".listing-controls").all();
    return { page, listings: all.map((controls) => new Listing(controls)) };
  }

  class Listing {
    readonly program: Locator;
    readonly #controls: Locator;
    constructor(controls: Locator) {
      this.#controls = controls;
      this.program = controls.locator("xpath=preceding-sibling::pre[1]/code");
    }
    readonly button = (name: string) => this.#controls.getByRole("button", { name });
    readonly drawn = (selector: string) => this.#controls.locator(`.listing-drawn ${selector}`);
    /** Runs it. Gives the lines that it prints. */
    async run(): Promise<string[]> {
      await this.button("Run").click();
      await this.#controls.locator("button:enabled", { hasText: "Run" }).waitFor();
      return (await this.#controls.locator("output").innerText()).trim().split("\n");
    }
  }

  test("most pages with listings have some that run", async () => {
    const counts = await Promise.all(
      guides.map(async (guide) => {
        const { page, listings } = await open(guide);
        await page.close();
        return listings.length;
      }),
    );
    expect(counts.filter((count) => count > 0).length).toBeGreaterThanOrEqual(18);
    expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(75);
  });

  test.each(guides)("%s: each prints what it promises", async (guide) => {
    const { page, listings } = await open(guide);
    const failures: string[] = [];
    page.on("pageerror", ({ message }) => failures.push(message));
    for (const listing of listings) {
      const program = await listing.program.innerText();
      const [printed, promised] = [await listing.run(), promisedBy(program)];
      const draws = program.startsWith("<") || program.includes("headwise/react");
      if (draws) await listing.drawn("*").first().waitFor();
      if (!saysTheEngine(program) && promised.length > 0) expect(printed).toEqual(promised);
      else expect(printed[0] === "").toBe(draws);
    }
    await page.close();
    expect(failures).toEqual([]);
  });

  test("the elements of headwise/viz are drawn under their listing, and go when it is reset", async () => {
    const { page, listings } = await open("viz");
    const [first] = listings;
    for (let time = 0; time < 2; ++time) {
      expect(await first!.run()).toEqual([""]);
      for (const name of ["attention-map", "attention-heads"]) await first!.drawn(`${name} canvas`).first().waitFor();
    }
    const changed = (await first!.program.innerText()).replace('"cat"', '"dog"');
    await first!.program.fill(changed);
    await first!.run();
    expect(await first!.drawn("attention-heads").getByText("dog").count()).toBeGreaterThan(0);
    await first!.button("Reset").click();
    expect(await first!.drawn("*").count()).toBe(0);
    await page.close();
  });

  test("a component of React is drawn under its listing, computes again, and goes when it is reset", async () => {
    const { page, listings } = await open("react");
    const [picture, application] = listings;
    expect(await picture!.run()).toEqual([""]);
    await picture!.drawn("attention-map [role=grid]").first().waitFor();
    expect(await application!.run()).toEqual([""]);
    await application!.drawn("figcaption").getByText("Scale 1, cell none, first weight 0.42").waitFor();
    await application!.drawn("input").press("End");
    await application!.drawn("figcaption").getByText("Scale 8, cell none, first weight 0.50").waitFor();
    await application!.program.fill(
      'import { useState } from "react";\nexport const Wrong = () => { throw new RangeError(useState<string>("no")[0]); };',
    );
    await application!.run();
    await page.locator("output.failed", { hasText: "RangeError: no" }).waitFor();
    await application!.button("Reset").click();
    expect(await application!.drawn("*").count()).toBe(0);
    await page.close();
  });

  test.each(guides)("%s: is no wider than a narrow screen; a wide table scrolls by itself", async (guide) => {
    const { page } = await open(guide);
    await page.setViewportSize({ width: 320, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "axe finds nothing serious in the contents of a page, %s",
    async (colorScheme) => {
      const { page } = await open("choose");
      await page.emulateMedia({ colorScheme });
      await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
      const found = await page.evaluate(async () => {
        const { axe } = window as unknown as { axe: typeof axeCore };
        const { violations } = await axe.run({ include: [".col-content"] });
        return violations.filter(({ impact }) => impact !== "minor").map(({ id, nodes }) => [id, nodes[0]!.html]);
      });
      await page.close();
      expect(found).toEqual([]);
    },
  );

  test("the search finds what a page says, such as the code of an error", async () => {
    const { page } = await open("index");
    await page.keyboard.press("/");
    await page.getByRole("combobox").fill("WORKER_LOST");
    await page.locator("#tsd-search-results").getByText("troubleshooting").waitFor();
    await page.close();
  });

  test("what a page says is its main landmark", async () => {
    const { page } = await open("caches");
    expect(await page.getByRole("main").getByRole("heading", { level: 1 }).allInnerTexts()).toEqual([
      "Key and value caches",
    ]);
    await page.close();
  });

  test("a reader changes one, reads its error, and takes it back", async () => {
    const { page, listings } = await open("guide");
    const [first] = listings;
    const original = await first!.program.innerText();
    await first!.program.fill('import { tensor } from "headwise";\nconsole.log(tensor([[1], [2]]).shape, "changed");');
    expect(await first!.run()).toEqual(["[ 2, 1 ] changed"]);
    await first!.program.fill('import { tensor } from "headwise";\ntensor(new Float32Array(3), [2, 2]);');
    expect((await first!.run()).join("\n")).toMatch(/^ShapeError: tensor: /);
    await first!.button("Reset").click();
    expect(await first!.program.innerText()).toBe(original);
    expect(await first!.run()).toEqual(promisedBy(original));
    await page.close();
  });
});
