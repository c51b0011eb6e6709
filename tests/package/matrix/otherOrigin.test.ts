// The package on another origin than the page, as on a CDN.

import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { serveFolder } from "../../browser/staticServer.js";
import { expectBothWays, nameFiles } from "../pages.js";
import { pageProject } from "../pageProject.js";

const project = pageProject();
let elsewhere: Awaited<ReturnType<typeof serveFolder>>;
beforeAll(async () => {
  const shared = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
  elsewhere = await serveFolder(path.join(project.consumer.folder, "node_modules/headwise/dist"), shared);
  await nameFiles(project.consumer.folder, elsewhere.url.slice(0, -1));
});
afterAll(() => elsewhere.stop());

test("a page computes with files of another origin, with threads where it is isolated", () =>
  expectBothWays(project.browser, project.consumer.folder));
