// npm run docs: makes build/docs, a folder for any static web server: the guides, the API of every entry, the demo.

import { cp } from "node:fs/promises";
import path from "node:path";

import { buildToRun } from "./build.mjs";
import { build, root } from "./paths.mjs";
import { run, say } from "./run.mjs";

const site = path.join(build, "docs");

try {
  await buildToRun();
  await run(process.execPath, ["node_modules/typedoc/bin/typedoc", "--options", "web/typedoc.json"]);
  const { buildSite } = await import("../demo/site.mjs"); // needs the packages
  await cp(buildSite(), path.join(site, "demo"), { recursive: true });
  say(`docs: ${path.relative(root, site)}/index.html`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
