// The bundlers of the web, each in the shape in which it meets headwise first: without configuration.

import { copyFile } from "node:fs/promises";
import path from "node:path";

import { beforeAll, describe, expect, test } from "@jest/globals";

import { ISOLATION } from "../../browser/staticServer.js";
import { firstRows } from "../expected.js";
import { closeTo, expectAlone, expectBothWays, expectThreaded, outcomeAt, outcomeIn } from "../pages.js";
import { bundle, copyAssets, distOf, pageProject } from "../pageProject.js";
import { run } from "../programs.js";
import { describeWith, runtime, tool } from "../tools.js";
import { withViteServer } from "../viteServer.js";

const project = pageProject();

const STRICT = { ...ISOLATION, "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };

describe.each(["mainCore.js", "mainWorker.js", "mainOwnWorker.js"])("%s", (main) => {
  const computes = (bundler: string) =>
    test(`${bundler}: no configuration, no warning, also under a strict policy`, async () => {
      const site = await bundle(bundler, project.consumer, main);
      await expectBothWays(project.browser, site);
      expectThreaded(await outcomeIn(project.browser, site, STRICT));
    });

  computes("vite");
  describeWith([tool("webpack")], "webpack", () => computes("webpack"));
  describeWith([tool("@rsbuild/core")], "Rsbuild", () => computes("rsbuild"));

  describe("Vite's development server", () => {
    const outcomeWith = async (headers: Readonly<Record<string, string>>) => {
      const { folder } = project.consumer;
      await copyFile(path.join(folder, main), path.join(folder, "main.js"));
      return withViteServer(folder, headers, (url) => outcomeAt(project.browser, url));
    };

    test("isolated", async () => expectThreaded(await outcomeWith(ISOLATION)));
    test("not isolated", async () => expectAlone(await outcomeWith({})));
  });
});

// These leave `new URL(…, import.meta.url)` alone: the assets are the page's own business.
function testAssets(bundler: string, ...options: readonly string[]): void {
  const bundled = (main?: string) => bundle(bundler, project.consumer, main, ...options);

  test("with the assets copied beside the bundle", async () => {
    const site = await bundled();
    await copyAssets(project.consumer, path.join(site, "wasm"));
    await expectBothWays(project.browser, site);
  });

  test("headwise/worker with its script copied too", async () => {
    const site = await bundled("mainWorker.js");
    await copyAssets(project.consumer, path.join(site, "wasm"));
    await copyFile(path.join(distOf(project.consumer), "worker-entry.js"), path.join(site, "worker-entry.js"));
    await expectBothWays(project.browser, site);
  });

  test("headwise/worker without its script names it", async () => {
    const { code, message, hint } = await outcomeIn(project.browser, await bundled("mainWorker.js"), {});
    expect(code).toBe("ASSET_NOT_FOUND");
    expect(message).toMatch(/worker did not start: http:\S+\/worker-entry\.js was not found: HTTP 404/);
    expect(hint).toContain("copy it there from node_modules/headwise/dist");
  });

  test("with the assets copied elsewhere and their addresses given", async () => {
    const site = await bundled("mainWithUrls.js");
    await copyAssets(project.consumer, path.join(site, "assets"));
    await expectBothWays(project.browser, site);
  });

  test("without the assets, the error names a file that is missing, and the cure", async () => {
    const { code, message, hint } = await outcomeIn(project.browser, await bundled(), {});
    expect(code).toBe("ASSET_NOT_FOUND");
    expect(message).toMatch(/wasm\/headwise\.\w+\.(js|wasm) .*HTTP 404/);
    expect(hint).toContain("headwise/wasm/");
  });

  test("with headwise/inline, there are no assets", async () => {
    const outcome = await outcomeIn(project.browser, await bundled("mainInline.js"), {});
    expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  });
}

describeWith([tool("webpack")], "webpack for Node: no configuration, no warning, two threads", () => {
  beforeAll(() => project.consumer.add("node"));

  test.each(["mainCore.js", "mainWorker.js"])("%s", async (main) => {
    const site = await bundle("webpackNode", project.consumer, main);
    const outcome: unknown = JSON.parse(await run(process.execPath, ["server.cjs"], { cwd: site }));
    expect(outcome).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
  });
});

describe("esbuild", () => testAssets("esbuild"));
describeWith([tool("rollup"), tool("@rollup/plugin-node-resolve")], "Rollup", () => testAssets("rollup"));

const bun = runtime("@oven/bun-linux-x64/bin/bun");
describeWith([bun], "Bun's bundler", () => testAssets("bun", bun));
const deno = runtime("@deno/linux-x64-glibc/deno");
describeWith([deno], "Deno's bundler", () => testAssets("deno", deno));
