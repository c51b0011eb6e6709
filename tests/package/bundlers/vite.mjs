// node vite.mjs FOLDER: `vite build` of the page, without configuration, into FOLDER/site.

import { build } from "vite";

await build({ root: process.argv[2], configFile: false, logLevel: "warn", build: { outDir: "site" } });
