// node vite.mjs FOLDER: `vite build` of the page, configured by what FOLDER holds, into FOLDER/site.

import { build } from "vite";

await build({ root: process.argv[2], logLevel: "warn", build: { outDir: "site" } });
