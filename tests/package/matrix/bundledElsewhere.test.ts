// Bundles whose files lie on another origin than the page, as on a CDN: the bundler writes that address into them.

import { cp, mkdir, rm } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { serveFolder } from "../../browser/staticServer.js";
import { expectBothWays } from "../pages.js";
import { bundle, pageProject } from "../pageProject.js";
import { describeWith, tool } from "../tools.js";

const SHARED = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };

const project = pageProject();
let elsewhere: Awaited<ReturnType<typeof serveFolder>>;
beforeAll(async () => {
  elsewhere = await serveFolder(path.join(project.consumer.folder, "site"), SHARED);
});
afterAll(() => elsewhere.stop());

/** A folder with the page, which says where its script is, and what else must be of its own origin. */
async function pageAlone(site: string, own: readonly string[]): Promise<string> {
  const folder = path.join(project.consumer.folder, "page");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const name of own) await cp(path.join(site, name), path.join(folder, name));
  return folder;
}

const BUNDLERS = { vite: ["index.html"], webpack: ["index.html", "main.js"] };

for (const [bundler, own] of Object.entries(BUNDLERS))
  describeWith(bundler === "vite" ? [] : [tool(bundler)], bundler, () => {
    test.each(["mainCore.js", "mainWorker.js"])(
      "%s computes, with threads where the page is isolated",
      async (main) => {
        const site = await bundle(bundler, project.consumer, main, elsewhere.url);
        await expectBothWays(project.browser, await pageAlone(site, own));
      },
    );
  });
