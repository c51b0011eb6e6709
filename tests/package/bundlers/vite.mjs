// node vite.mjs FOLDER [BASE]: `vite build` of the page, configured by what FOLDER holds, into FOLDER/site, to be served
// at an address.

import { build } from "vite";

const [root, base] = process.argv.slice(2);
await build({ root, base, logLevel: "warn", build: { outDir: "site" } });
