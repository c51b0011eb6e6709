// The bundlers of the web, each in the shape in which it meets headwise first: without configuration.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, rm } from "node:fs/promises";
import path from "node:path";

import { describe, expect, test } from "@jest/globals";

import { ISOLATION } from "../../browser/staticServer.js";
import { firstRows } from "../expected.js";
import { closeTo, expectAlone, expectBothWays, expectThreaded, outcomeAt, outcomeIn } from "../pages.js";
import { bundle, pageProject, script } from "../pageProject.js";

const project = pageProject();
const MINUTES = 60_000;

test(
  "webpack: no configuration, no warning",
  async () => {
    await expectBothWays(project.browser, await bundle("webpack", project.consumer));
  },
  2 * MINUTES,
);

describe("Vite's development server", () => {
  const outcomeWith = async (headers: Readonly<Record<string, string>>) => {
    const args = [script("viteServer"), project.consumer.folder, JSON.stringify(headers)];
    const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(server.stdout.setEncoding("utf8"), "data")) as [string];
      return await outcomeAt(project.browser, line.trim());
    } finally {
      server.kill();
      await once(server, "close");
    }
  };

  test("isolated", async () => expectThreaded(await outcomeWith(ISOLATION)), MINUTES);
  test("not isolated", async () => expectAlone(await outcomeWith({})), MINUTES);
});

// These two leave `new URL(…, import.meta.url)` alone: the assets are the page's own business.
describe.each(["esbuild", "rollup"])("%s", (bundler) => {
  const copyAssets = (site: string, name: string) =>
    cp(path.join(project.consumer.folder, "node_modules/headwise/dist/wasm"), path.join(site, name), {
      recursive: true,
    });
  const bundled = async (entry: string) => {
    await rm(path.join(project.consumer.folder, "site"), { recursive: true, force: true });
    return bundle(bundler, project.consumer, entry);
  };

  test(
    "with the assets copied beside the bundle",
    async () => {
      const site = await bundled("main.js");
      await copyAssets(site, "wasm");
      await expectBothWays(project.browser, site);
    },
    MINUTES,
  );

  test(
    "with the assets copied elsewhere and their addresses given",
    async () => {
      const site = await bundled("mainWithUrls.js");
      await copyAssets(site, "assets");
      await expectBothWays(project.browser, site);
    },
    MINUTES,
  );

  test(
    "without the assets, the error names a file that is missing, and the cure",
    async () => {
      const { code, message, hint } = await outcomeIn(project.browser, await bundled("main.js"), {});
      expect(code).toBe("ASSET_NOT_FOUND");
      expect(message).toMatch(/wasm\/headwise\.\w+\.(js|wasm) .*HTTP 404/);
      expect(hint).toContain("headwise/wasm/");
    },
    MINUTES,
  );

  test(
    "with headwise/inline, there are no assets",
    async () => {
      const outcome = await outcomeIn(project.browser, await bundled("mainInline.js"), {});
      expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
    },
    MINUTES,
  );
});
