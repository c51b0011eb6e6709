// npm run build:demo: makes the lab as a folder for any static web server.
//
//   npm run build:demo -- --address ADDRESS    where it will be served: links to it then show a picture of it elsewhere

import path from "node:path";
import { parseArgs } from "node:util";

import { buildToRun } from "./build.mjs";
import { root } from "./paths.mjs";
import { say } from "./run.mjs";

try {
  const { values } = parseArgs({ options: { address: { type: "string" } } });
  if (values.address !== undefined && !/^https?:\/\/./.test(values.address))
    throw new Error(`--address: must begin with https:// or http://, got ${values.address}`);
  await buildToRun();
  const { buildSite } = await import("../demo/site.mjs"); // needs the packages
  const site = buildSite(values);
  say(`build: ${path.relative(root, site)} is ready for any static host`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
