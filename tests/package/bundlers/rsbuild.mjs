// node rsbuild.mjs FOLDER: Rsbuild without configuration but for names of files; it writes the page itself.

import { createRsbuild } from "@rsbuild/core";

const [cwd] = process.argv.slice(2);
const config = {
  ...{ source: { entry: { index: "./main.js" } }, output: { distPath: { root: "site" } } },
  ...{ logLevel: "warn", performance: { printFileSize: false } },
};
const rsbuild = await createRsbuild({ cwd, config });
const { close } = await rsbuild.build();
await close();
