// node esbuild.mjs FOLDER: esbuild without configuration, with the page beside the bundle.

import path from "node:path";

import { build } from "esbuild";

import { copyPage } from "./page.mjs";

const [folder] = process.argv.slice(2);
await build({
  entryPoints: [path.join(folder, "main.js")],
  outfile: path.join(folder, "site/main.js"),
  ...{ bundle: true, format: "esm", logLevel: "warning" },
});
await copyPage(folder);
