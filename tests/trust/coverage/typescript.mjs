// Coverage of web/src by the tests of the package in Node and in Chromium, as V8 counts it.

import { mkdirSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

import { root } from "../../../web/build/paths.mjs";
import { nodeFlags, statusOf } from "../programs.mjs";
import { united } from "./united.mjs";

/** Tests of documents, of the lab and of tools: they do not run the package, or only as others do. */
const OTHERS = /^(demo|docs|lab|lock|adapterNames|mutation|readme|rooms|stages|treeShaking|trust|usage|workflows)/;

/** Tests that run the package, the slowest first. */
const FOLDERS = ["webgpu", "browser", "web", "conformance"];

/** V8 keeps every module that it counts: a process runs a few test files only. */
const FILES_AT_A_TIME = 6;

const testFiles = () =>
  FOLDERS.flatMap((folder) =>
    readdirSync(path.join(root, "tests", folder))
      .filter((name) => /\.test\.(ts|mjs)$/.test(name) && !OTHERS.test(name))
      .map((name) => `tests/${folder}/${name}`),
  );

/** @returns {Promise<Coverage>} */
export async function typescriptCoverage(folder, files = testFiles()) {
  const counts = path.join(folder, "v8");
  mkdirSync(counts, { recursive: true });
  const waiting = [...files];
  const runWaiting = async () => {
    while (waiting.length > 0) await runCounted(waiting.splice(0, FILES_AT_A_TIME), counts);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runWaiting));
  const { reportsOf } = await import("./v8Reports.mjs"); // needs the packages
  return united(await reportsOf(counts, folder));
}

/** Jest's own workers are killed at the end, before they have written their counts. */
async function runCounted(files, counts) {
  const args = ["--config", "tests/jest.config.mjs", "--runInBand", "--runTestsByPath", ...files];
  const program = [...nodeFlags(), "node_modules/jest/bin/jest.js", ...args];
  const status = await statusOf(process.execPath, program, { NODE_V8_COVERAGE: counts });
  if (status !== 0) throw new Error(`coverage: a TypeScript test failed, in ${files.join(", ")}`);
}
