// The examples of web/demo/embed/examples: a figure of the lab in a page of React, of Svelte and of Observable.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";

import { launchChromium } from "../../browser/chromium.js";
import { serveFolder } from "../../browser/staticServer.js";
import { script } from "../pageProject.js";
import { run } from "../programs.js";
import { describeWith, newestNode, tool } from "../tools.js";

const EXAMPLES = path.resolve("web/demo/embed/examples");
/** What the examples call the place of the lab. */
const LAB = "https://your.host/lab/";

let browser: Browser;
let lab: Awaited<ReturnType<typeof serveFolder>>;
let place: string;
beforeAll(async () => {
  browser = await launchChromium();
  lab = await serveFolder(path.resolve("dist-demo/page"), { "Access-Control-Allow-Origin": "*" });
  place = await mkdtemp(path.join(tmpdir(), "headwise-embed-"));
  await symlink(path.resolve("tests/package/node_modules"), path.join(place, "node_modules"));
});
afterAll(async () => {
  await browser.close();
  lab.stop();
  await rm(place, { recursive: true });
});

/** A copy of the example, with the address of this lab. */
async function copyOf(example: string): Promise<string> {
  const folder = path.join(place, example);
  await cp(path.join(EXAMPLES, example), folder, { recursive: true });
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    await writeFile(file, (await readFile(file, "utf8")).replaceAll(LAB, lab.url));
  }
  return folder;
}

/** The page shows the figure; its slider changes the figure, which is not loaded again. */
async function expectFigure(site: string): Promise<void> {
  const host = await serveFolder(site, {});
  const page = await browser.newPage();
  try {
    await page.goto(host.url);
    await expectFollowing(page);
  } finally {
    await page.close();
    host.stop();
  }
}

async function expectFollowing(page: Page): Promise<void> {
  const frame = page.locator("headwise-figure iframe.drawn");
  await frame.waitFor();
  expect(await frame.getAttribute("title")).toBe("A sliding window");
  expect(await page.getByText(/^Every token sees/).isVisible()).toBe(false);
  const figure = (await (await frame.elementHandle()).contentFrame())!;
  expect(await figure.locator("[data-field=left]").inputValue()).toBe("7");
  await figure.evaluate(() => ((globalThis as { mark?: string }).mark = "the same"));
  await page.locator("input[type=range]").press("ArrowLeft");
  await figure.waitForSelector('#figure-credit a[href$="#/masks?left=6"]');
  expect(await figure.evaluate(() => (globalThis as { mark?: string }).mark)).toBe("the same");
}

/** Compiles files of a folder strictly, with more lines that must be accepted or, after `@ts-expect-error`, must not. */
async function compiles(folder: string, files: readonly string[]): Promise<void> {
  const compilerOptions = {
    ...{ noEmit: true, strict: true, exactOptionalPropertyTypes: true, jsx: "react-jsx", types: [] },
    ...{ target: "es2022", lib: ["es2022", "dom"], module: "esnext", moduleResolution: "bundler" },
  };
  await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  await run(process.execPath, [path.resolve("node_modules/typescript/bin/tsc")], { cwd: folder });
}

describeWith(["react", "react-dom", "@types/react", "vite"].map(tool), "React", () => {
  test("its page is accepted by the types, is built by Vite, and its slider moves the figure", async () => {
    const folder = await copyOf("react");
    await writeFile(path.join(folder, "no.tsx"), "// @ts-expect-error\n<headwise-figure theme='blue' />;");
    await compiles(folder, ["Page.tsx", "no.tsx", "reactFigure.d.ts"]);
    await run(process.execPath, [script("vite"), folder]);
    await expectFigure(path.join(folder, "site"));
  });
});

describeWith(["svelte", "@sveltejs/vite-plugin-svelte", "vite"].map(tool), "Svelte", () => {
  test("its page is built by Vite, and its slider moves the figure", async () => {
    const folder = await copyOf("svelte");
    await run(newestNode, [script("vite"), folder]);
    await expectFigure(path.join(folder, "site"));
  });

  test("its types know the element", async () => {
    const folder = path.join(place, "svelteTypes");
    await mkdir(folder);
    await cp(path.join(EXAMPLES, "svelte/svelteFigure.d.ts"), path.join(folder, "svelteFigure.d.ts"));
    await writeFile(
      path.join(folder, "yes.ts"),
      `import type { SvelteHTMLElements } from "svelte/elements";
      export const figure: SvelteHTMLElements["headwise-figure"] = { room: "masks", class: "wide" };
      // @ts-expect-error
      export const no: SvelteHTMLElements["headwise-figure"] = { room: "masks", theme: "blue" };`,
    );
    await compiles(folder, ["yes.ts", "svelteFigure.d.ts"]);
  });
});

describeWith([tool("@observablehq/notebook-kit")], "Observable Notebook Kit", () => {
  test("its notebook is built, and its slider moves the figure", async () => {
    const folder = await copyOf("observable");
    const program = tool("@observablehq/notebook-kit/dist/bin/notebooks.js");
    await run(newestNode, [program, "build", "--root", ".", "--out", "site", "--", "index.html"], { cwd: folder });
    await expectFigure(path.join(folder, "site"));
  });
});
