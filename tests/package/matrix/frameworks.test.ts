// Frameworks and bundlers that must be installed in the project, each with the smallest one that makes a page.

import { copyFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";

import { TEST_MILLISECONDS, WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { firstRows } from "../expected.js";
import { closeTo, expectBothWays, outcomeIn } from "../pages.js";
import { copyAssets, pageProject } from "../pageProject.js";
import { run } from "../programs.js";
import { describeWith, newestNode, tool } from "../tools.js";

/** Nothing is asked, nothing is sent. */
const QUIET = { CI: "1", NG_CLI_ANALYTICS: "false", ASTRO_TELEMETRY_DISABLED: "1" };

/** The page's project with the files of consumers/NAME and the tools of tests/package. `build` gives the folder to serve. */
function projectOf(name?: string) {
  const project = pageProject();
  beforeAll(async () => {
    await project.consumer.useTools();
    if (name) await project.consumer.add(name);
  });
  const build = async (program: string, ...words: readonly string[]) => {
    const { folder } = project.consumer;
    const site = path.join(folder, "site");
    await rm(site, { recursive: true, force: true });
    await run(newestNode, [tool(program), ...words], { cwd: folder, env: QUIET, timeout: 3 * WAIT_MILLISECONDS });
    return site;
  };
  return { project, build };
}

const slowTest = (name: string, body: () => Promise<void>) => test(name, body, 3 * TEST_MILLISECONDS);

describeWith([tool("@sveltejs/kit"), tool("@sveltejs/adapter-static"), tool("vite")], "SvelteKit", () => {
  const { project, build } = projectOf("svelteKit");
  slowTest("a prerendered page computes, without configuration", async () =>
    expectBothWays(project.browser, await build("vite/bin/vite.js", "build")),
  );
});

describeWith([tool("astro")], "Astro", () => {
  const { project, build } = projectOf("astro");
  slowTest("a page computes, without configuration", async () =>
    expectBothWays(project.browser, await build("astro/bin/astro.mjs", "build")),
  );
});

describeWith([tool("@angular/cli"), tool("@angular/build"), tool("@angular/compiler-cli")], "Angular", () => {
  const { project, build } = projectOf("angular");
  slowTest("a page computes with the engine's files among its assets, and without them says so", async () => {
    const site = await build("@angular/cli/bin/ng.js", "build");
    await expectBothWays(project.browser, site);
    await rm(path.join(site, "wasm"), { recursive: true });
    expect(await outcomeIn(project.browser, site, {})).toMatchObject({ code: "ASSET_NOT_FOUND" });
  });
});

describeWith([tool("parcel")], "Parcel, with package exports turned on", () => {
  const { project, build } = projectOf();
  const built = async (main: string) => {
    const { folder } = project.consumer;
    const manifest = { "@parcel/resolver-default": { packageExports: true } };
    await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
    await copyFile(path.join(folder, main), path.join(folder, "main.js"));
    return build("parcel/lib/bin.js", "build", "index.html", "--dist-dir", "site", "--no-cache");
  };

  slowTest("headwise/inline computes", async () => {
    const outcome = await outcomeIn(project.browser, await built("mainInline.js"), {});
    expect(outcome).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  });

  slowTest("a file that Parcel has changed is named, with what computes without it", async () => {
    const site = await built("mainAuto.js");
    await copyAssets(project.consumer, path.join(site, "assets"));
    const outcome = await outcomeIn(project.browser, site, {});
    expect(outcome).toMatchObject({ code: "ASSET_INVALID" });
    expect(outcome.message).toMatch(/auto-engine\.\w+\.js is not a file of headwise/);
    expect(outcome.hint).toContain('backend: "wasm"');
  });

  slowTest("headwise computes with the assets copied and their addresses given", async () => {
    const site = await built("mainWithUrls.js");
    await copyAssets(project.consumer, path.join(site, "assets"));
    await expectBothWays(project.browser, site);
  });
});
