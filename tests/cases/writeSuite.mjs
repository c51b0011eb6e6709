// node tests/cases/writeSuite.mjs: writes attention.json and formulas.json of tests/attention-conformance/cases from
// attention.json of this folder and the formulas of tests/web/formulaTable.ts.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = (file) => fileURLToPath(new URL(file, import.meta.url));
const outfile = here("../../build/suiteFiles.mjs");
await build({
  entryPoints: [here("suiteFiles.ts")],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  external: ["headwise", "headwise/*"],
});
const { suiteFiles } = await import(outfile);
for (const [name, text] of Object.entries(suiteFiles(await readFile(here("attention.json"), "utf8"))))
  await writeFile(here(`../attention-conformance/cases/${name}`), text);
