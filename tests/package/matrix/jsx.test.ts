// The elements in the markup of frameworks: the types, with the listings of the page on headwise/viz, and React's page.

import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";

import { serveFolder } from "../../browser/staticServer.js";
import { pageProject } from "../pageProject.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

const LISTING = /^```ts (\w+\.d\.ts)\n(.*?)^```/gms;

const project = pageProject();
beforeAll(async () => {
  const { consumer } = project;
  await consumer.useTools();
  await consumer.add("jsx");
  for (const [, name, text] of readFileSync("web/docs/viz.md", "utf8").matchAll(LISTING))
    await writeFile(path.join(consumer.folder, name!), text!);
});

const STRICT = {
  ...{ noEmit: true, jsx: "react-jsx", strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: [] },
  ...{ target: "es2022", lib: ["es2022", "esnext.disposable", "dom"], module: "esnext", moduleResolution: "bundler" },
};

/** Compiles files of the project; the compiler says what it does not accept, and what it wrongly accepts. */
async function compiles(files: readonly string[], options: object = {}): Promise<void> {
  const { folder } = project.consumer;
  await writeFile(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files }),
  );
  await run(process.execPath, [path.resolve("node_modules/typescript/bin/tsc")], { cwd: folder });
}

const FRAMEWORKS = ["@types/react", "preact", "solid-js", "svelte", "vue"];
describeWith(FRAMEWORKS.map(tool), "React 19, and Preact, Solid, Svelte and Vue by the listings", () => {
  test("the elements are known to the types, by all their properties and events", () =>
    compiles(["reactTypes.tsx", "preactTypes.tsx", "solidTypes.tsx", "svelteTypes.ts", "vueTypes.ts"]));
});

describeWith([tool("react18types")], "React 18", () => {
  test("the elements and the components of headwise/react are known to its types", async () => {
    await project.consumer.add("react");
    const names = ["", "/jsx-runtime"];
    const paths = Object.fromEntries(names.map((name) => [`react${name}`, [tool(`react18types${name}`)]]));
    await compiles(["reactTypes.tsx", "types.tsx"], { paths });
  });
});

describeWith([tool("react"), tool("react-dom")], "React 19 in a page", () => {
  test("sets properties, and hears events", async () => {
    const { browser, consumer } = project;
    const site = path.join(consumer.folder, "site");
    await mkdir(site);
    await writeFile(path.join(site, "index.html"), '<!doctype html><script type="module" src="page.js"></script>');
    const [source, outfile] = [path.join(consumer.folder, "reactPage.jsx"), path.join(site, "page.js")];
    await build({ entryPoints: [source], outfile, bundle: true, format: "esm", jsx: "automatic" });
    const server = await serveFolder(site, {});
    const page = await browser.newPage();
    try {
      await page.goto(server.url);
      const shape = await page.locator("attention-map").evaluate((element) => {
        element.dispatchEvent(new CustomEvent("headchange", { detail: { head: 0 } }));
        return (element as Element & { probs?: { shape: number[] } }).probs?.shape;
      });
      expect(shape).toEqual([1, 2, 2]);
      const output = page.locator("output", { hasText: "head 0" });
      expect(await output.textContent()).toBe("head 0, causal true");
    } finally {
      await page.close();
      server.stop();
    }
  });
});
