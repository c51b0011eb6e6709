// node deno.mjs FOLDER DENO: Deno's bundler for browsers, with the packages that npm has installed. The page lies beside the
// bundle.

import { execFileSync } from "node:child_process";

import { copyPage } from "./page.mjs";

const [folder, deno] = process.argv.slice(2);
const options = ["--platform=browser", "--node-modules-dir=manual", "--output=site/main.js"];
execFileSync(deno, ["bundle", ...options, "main.js"], { cwd: folder });
await copyPage(folder);
