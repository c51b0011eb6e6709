// The package on another origin than the page, as on a CDN.

import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { serveFolder } from "../../browser/staticServer.js";
import { expectBothWays, useFiles } from "../pages.js";
import { pageProject } from "../pageProject.js";

const project = pageProject();
let elsewhere: Awaited<ReturnType<typeof serveFolder>>;
beforeAll(async () => {
  const shared = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
  elsewhere = await serveFolder(path.join(project.consumer.folder, "node_modules/headwise/dist"), shared);
});
afterAll(() => elsewhere.stop());

test.each(["mainCore.js", "mainWorker.js"])("%s computes, with threads where the page is isolated", async (script) => {
  const { folder } = project.consumer;
  await useFiles(folder, script, elsewhere.url.replace(/\/$/, ""));
  await expectBothWays(project.browser, folder);
});
