// npm run build:demo: makes the lab as a folder for any static web server.

import path from "node:path";

import { buildToRun } from "./build.mjs";
import { root } from "./paths.mjs";
import { say } from "./run.mjs";

try {
  await buildToRun();
  const { buildSite } = await import("../demo/site.mjs"); // needs the packages
  const site = buildSite();
  say(`build: ${path.relative(root, site)} is ready for any static host`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
