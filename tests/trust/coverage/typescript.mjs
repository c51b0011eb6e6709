// Coverage of web/src by the tests of the built package in Node and in Chromium: V8 counts, monocart-coverage-reports
// maps the bundles back to their sources.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { CoverageReport } from "monocart-coverage-reports";

import { dist, root } from "../../../web/build/paths.mjs";
import { nodeFlags, statusOf } from "../programs.mjs";

/**
 * @typedef {object} Coverage
 * @property {{ covered: number, total: number }} lines
 * @property {{ covered: number, total: number }} branches
 * @property {{ name: string, lines: object, branches: object }[]} files
 */

/** Tests that run the package, the slowest first. The others are about documents, the lab and the tools. */
const FOLDERS = ["webgpu", "browser", "web", "conformance"];

/** V8 keeps every module that it counts: a process runs a few test files only. */
const FILES_AT_A_TIME = 6;

const testFiles = () =>
  FOLDERS.flatMap((folder) =>
    readdirSync(path.join(root, "tests", folder))
      .filter((name) => /\.test\.(ts|mjs)$/.test(name) && !/^(demo|lab|readme|rooms|stages)/.test(name))
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
  return coverageOf(counts, path.join(folder, "typescript"));
}

/** Jest's own workers are killed at the end, before they have written their counts. */
async function runCounted(files, counts) {
  const args = ["--config", "tests/jest.config.mjs", "--runInBand", "--runTestsByPath", ...files];
  const program = [...nodeFlags(), "node_modules/jest/bin/jest.js", ...args];
  const status = await statusOf(process.execPath, program, { NODE_V8_COVERAGE: counts });
  if (status !== 0) throw new Error(`coverage: a TypeScript test failed, in ${files.join(", ")}`);
}

/** Counts of V8 in which no bundle runs a line: so bundles that no test loads count, too. */
function addUnloaded(counts) {
  const bundles = readdirSync(dist).filter((name) => name.endsWith(".js"));
  const result = bundles.map((name, scriptId) => {
    const file = path.join(dist, name);
    const ranges = [{ startOffset: 0, endOffset: readFileSync(file, "utf8").length, count: 0 }];
    const functions = [{ functionName: "", isBlockCoverage: true, ranges }];
    return { scriptId: String(scriptId), url: pathToFileURL(file).href, functions };
  });
  writeFileSync(path.join(counts, "coverage-unloaded.json"), JSON.stringify({ result }));
}

/** The coverage that V8 has counted into a folder. */
export async function coverageOf(counts, outputDir) {
  const report = new CoverageReport({
    outputDir,
    baseDir: root,
    reports: [["json-summary"]],
    logging: "error",
    entryFilter: ({ url }) => path.posix.dirname(url) === pathToFileURL(dist).href && /\.c?js$/.test(url),
    sourceFilter: (source) => /^web\/src\/.*\.ts$/.test(source),
  });
  addUnloaded(counts);
  await report.addFromDir(counts);
  const { summary, files } = await report.generate();
  const part = ({ covered, total }) => ({ covered, total });
  return {
    lines: part(summary.lines),
    branches: part(summary.branches),
    files: files.map((file) => ({
      name: file.sourcePath,
      lines: part(file.summary.lines),
      branches: part(file.summary.branches),
    })),
  };
}
