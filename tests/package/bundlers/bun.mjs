// node bun.mjs FOLDER BUN: Bun's bundler without configuration, with the page beside the bundle.

import { execFileSync } from "node:child_process";

import { copyPage } from "./page.mjs";

const [folder, bun] = process.argv.slice(2);
execFileSync(bun, ["build", "main.js", "--target=browser", "--outdir=site"], { cwd: folder });
await copyPage(folder);
