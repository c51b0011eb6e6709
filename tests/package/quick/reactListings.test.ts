// The listings of the page on React as an application: their types, in Vite's two ways, and required in CommonJS.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";

import { serveFolder } from "../../browser/staticServer.js";
import { listings } from "../listings.js";
import { pageProject, script } from "../pageProject.js";
import { run } from "../programs.js";
import { withViteServer } from "../viteServer.js";

const LISTED = ["Picture.tsx", "App.tsx"];
const INSTALLED = ["react", "react-dom", "scheduler", "csstype", "@types/react", "@types/react-dom"];

const project = pageProject();
beforeAll(async () => {
  const { consumer } = project;
  await consumer.add("react");
  for (const name of LISTED) writeFileSync(path.join(consumer.folder, name), listings.get(name)!);
  mkdirSync(path.join(consumer.folder, "node_modules/@types"));
  for (const name of INSTALLED)
    symlinkSync(path.resolve("node_modules", name), path.join(consumer.folder, "node_modules", name));
  const compilerOptions = {
    ...{ noEmit: true, jsx: "react-jsx", strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
    ...{ target: "es2022", lib: ["es2022", "esnext.disposable", "dom"], module: "esnext", types: [] },
    moduleResolution: "bundler",
  };
  const files = [...LISTED, "types.tsx"];
  writeFileSync(path.join(consumer.folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
});

test.each(["bundler", "node10"])(
  "TypeScript accepts them with moduleResolution %s, and refuses what is wrong",
  async (way) => {
    const flags = ["--moduleResolution", way, ...(way === "node10" ? ["--ignoreDeprecations", "6.0"] : [])];
    const compiler = path.resolve("node_modules/typescript/bin/tsc");
    await run(process.execPath, [compiler, ...flags], { cwd: project.consumer.folder });
  },
);

/** Both listings compute and draw, and the slider of the second computes again. */
async function expectApplication(url: string): Promise<void> {
  const page = await project.browser.newPage();
  const troubles: string[] = [];
  page.on("pageerror", ({ message }) => troubles.push(message));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && troubles.push(message.text()));
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  try {
    await page.goto(url);
    await page.getByText("Scale 1, cell none, first weight 0.42").waitFor();
    await page.getByRole("slider", { name: "Scale" }).press("End");
    await page.getByText("Scale 8, cell none, first weight 0.50").waitFor();
    for (const plot of await page.locator("attention-map .plot").all()) await plot.waitFor();
    await page
      .locator("attention-map [role=grid]")
      .first()
      .hover({ position: { x: 5, y: 5 } });
    await page.getByText("Scale 8, cell 0, 0").waitFor();
    expect(troubles).toEqual([]);
  } finally {
    await page.close();
  }
}

test("what Vite builds without configuration computes and draws", async () => {
  const { folder } = project.consumer;
  await run(process.execPath, [script("vite"), folder]);
  const server = await serveFolder(path.join(folder, "site"), {});
  await expectApplication(server.url);
  server.stop();
});

test("Vite's development server serves it without configuration", () =>
  withViteServer(project.consumer.folder, {}, expectApplication));

test("CommonJS gets the entry, whose engine is headwise/inline", async () => {
  const program = `
    const { useAttention, AttentionMap } = require("headwise/react");
    const { createElement } = require("react");
    const { renderToString } = require("react-dom/server");
    const Page = () => createElement(AttentionMap, { title: String(useAttention([[1]], [[1]], [[1]]).isLoading) });
    console.log(renderToString(createElement(Page)));`;
  const said = await run(process.execPath, ["--eval", program], { cwd: project.consumer.folder });
  expect(said).toBe('<attention-map title="true"></attention-map>\n');
});
