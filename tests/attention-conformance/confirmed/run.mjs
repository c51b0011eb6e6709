// node tests/attention-conformance/confirmed/run.mjs [NAME…]: runs the programs behind confirmed.json, or those named.

import { readdir } from "node:fs/promises";

const HELPERS = ["run.mjs", "model.mjs", "webgpu.mjs"];
const files = (await readdir(new URL(".", import.meta.url))).filter((file) => !HELPERS.includes(file));
const asked = process.argv.slice(2);
for (const file of files.sort()) {
  const name = file.replace(/\.mjs$/, "");
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(name, await (await import(`./${file}`)).run());
}
process.exit(); // an engine's threads must not keep the process
