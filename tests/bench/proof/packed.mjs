// The proof in a packed folder: Node is the only host. `pack.mjs` bundles this file.

import { fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { documentOf, isRight } from "./record.mjs";
import { summaryOf } from "./summary.mjs";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, minutes: { type: "string" }, save: { type: "string" } },
});
const minutes = Number(values.minutes ?? (values.quick ? 2 : 8));
if (!(minutes > 0)) throw new Error(`--minutes: must be more than 0, got ${values.minutes}`);

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The record of a process of its own: a driver that crashes must not end this one. */
function prove(options) {
  const [major] = process.versions.node.split(".");
  const flags = Number(major) < 22 ? ["--experimental-wasm-relaxed-simd"] : [];
  const child = fork(here("node.mjs"), [pathToFileURL(here("core.mjs")).href, JSON.stringify(options)], {
    execArgv: flags,
  });
  return new Promise((resolve, reject) => {
    let tenth = -1;
    child.on("message", ({ progress, record }) => {
      if (record) return resolve(record);
      const now = Math.floor((10 * progress.done) / progress.total);
      if (now > tenth) console.error(`${String(10 * now).padStart(3)} %  ${progress.what}`);
      tenth = Math.max(tenth, now);
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => reject(new Error(`Node ended with ${code ?? signal}`)));
  });
}

const record = await prove({ seconds: 60 * minutes, quick: values.quick }).catch((error) => ({
  host: { name: "node" },
  failure: error.message,
}));
console.log(summaryOf(record).join("\n"));
const save = path.resolve(values.save ?? "gpu-proof.json");
writeFileSync(save, `${JSON.stringify(documentOf([record]), undefined, 1)}\n`);
console.log(`\nwritten to ${save}`);
if (!isRight(record) || record.notRun !== undefined) process.exitCode = 1;
