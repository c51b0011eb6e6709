// npm run build:demo: makes the lab as a folder for any static web server.

import path from "node:path";

import { buildToRun } from "./build.mjs";
import { root } from "./paths.mjs";
import { say } from "./run.mjs";
import { optionsOf } from "./usage.mjs";

const USAGE = `npm run build:demo -- [options]: dist-demo/site, the lab as a folder for any static web server
  --address ADDRESS    where it will be served: links to it then show a picture of it elsewhere
  --help               this text`;

try {
  const values = optionsOf(USAGE, { likely: "address" });
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
