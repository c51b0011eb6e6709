// Mutants of the TypeScript package. Stryker's instrumenter puts all of them into the sources of a copy, each behind a
// switch. The copy is bundled once. A variable of the environment then says which mutant is active.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { root } from "../../../web/build/paths.mjs";
import { say } from "../../../web/build/run.mjs";
import { whenStale } from "../../../web/build/stale.mjs";
import { nodeFlags } from "../programs.mjs";
import { typescriptAreas, typescriptTests } from "./areas.mjs";
import { mustPass, outcomeOf } from "./program.mjs";
import { copyTree, linkTo } from "../tree.mjs";
import { mutationFolder } from "./folder.mjs";

const copy = path.join(mutationFolder, "typescript");
const coverage = path.join(mutationFolder, "coverage");
const jestReport = path.join(coverage, "jest.json");

/** Texts are mostly those of messages, which tests do not repeat. */
const EXCLUDED = ["StringLiteral"];

const quiet = () => {};
const LOGGER = { debug: quiet, info: quiet, warn: quiet, isDebugEnabled: () => false };

/** The areas' files with all mutants in them, and these mutants as Stryker describes them. */
async function instrumented() {
  const names = typescriptAreas.flatMap(({ files }) => files);
  const files = names.map((name) => ({ name, mutate: true, content: readFileSync(path.join(root, name), "utf8") }));
  const options = { plugins: null, excludedMutations: EXCLUDED, ignorers: [] };
  const { Instrumenter } = await import("@stryker-mutator/instrumenter"); // may have been installed just now
  const { files: withMutants, mutants } = await new Instrumenter(LOGGER).instrument(files, options);
  return { files: withMutants, mutants: mutants.filter(({ status }) => status !== "Ignored") };
}

/** The mutant's lines before and after. */
function described({ id, fileName: file, location, mutatorName: operator, replacement }) {
  const lines = readFileSync(path.join(root, file), "utf8").split("\n");
  const { start, end } = location;
  const touched = lines.slice(start.line, end.line + 1);
  const after = lines[start.line].slice(0, start.column) + replacement + lines[end.line].slice(end.column);
  return { id, file, line: start.line + 1, operator, before: touched.join("\n").trim(), after: after.trim() };
}

/** The mutants of each area. */
export async function mutants() {
  const { mutants: all } = await instrumented();
  const ofArea = ({ name, files }) =>
    all.filter(({ fileName }) => files.includes(fileName)).map((mutant) => ({ ...described(mutant), area: name }));
  return new Map(typescriptAreas.map((area) => [area.name, ofArea(area)]));
}

/** Copies the repository, puts the mutants into it, and bundles it. */
async function prepare() {
  copyTree(copy, ["."]);
  linkTo(copy, "node_modules");
  linkTo(copy, "build/inline-module");
  cpSync(path.join(root, "dist/wasm"), path.join(copy, "dist/wasm"), { recursive: true });
  for (const { name, content } of (await instrumented()).files) writeFileSync(path.join(copy, name), content);
  say("mutation: bundling the instrumented package");
  await mustPass(process.execPath, ["-e", "import('./web/build/bundle.mjs').then(({ bundle }) => bundle())"], {
    cwd: copy,
  });
  const bundles = readdirSync(path.join(copy, "dist")).filter((name) => name.endsWith(".js"));
  if (!bundles.some((name) => readFileSync(path.join(copy, "dist", name), "utf8").includes("stryMutAct")))
    throw new Error("the bundles of the copy hold no mutants");
}

const jest = (files, { env, seconds, more = [] }) =>
  outcomeOf(
    process.execPath,
    [
      ...nodeFlags(),
      "node_modules/jest/bin/jest.js",
      "--config",
      "tests/trust/mutation/jest.config.mjs",
      ...more,
      "--runTestsByPath",
      ...files,
    ],
    { cwd: copy, env, seconds },
  );

/** Runs all test files without a mutant. Each notes which mutants it runs. */
async function runWithoutMutant() {
  rmSync(coverage, { recursive: true, force: true });
  mkdirSync(coverage, { recursive: true });
  say("mutation: running the tests without a mutant");
  const more = ["--json", `--outputFile=${jestReport}`];
  const { output } = await jest(typescriptTests, { env: { HEADWISE_COVERAGE: coverage }, seconds: 7200, more });
  if (!existsSync(jestReport)) throw new Error(`Jest wrote no report:\n${output.slice(-4000)}`);
}

/**
 * The test files that pass without a mutant, the quickest first, with the mutants that they run. (Jest calls a file "focused"
 * if some of its tests were skipped.)
 */
async function coverageOfTests() {
  const inputs = [
    "package.json",
    "dist/wasm",
    "web/src",
    ...["cases", "conformance", "web", "webgpu", "trust/mutation/areas.mjs"].map((name) => `tests/${name}`),
  ];
  await whenStale("mutation-typescript", { inputs, outputs: [path.relative(root, jestReport)] }, runWithoutMutant);
  const { testResults } = JSON.parse(readFileSync(jestReport, "utf8"));
  const failed = testResults.filter(({ status }) => status === "failed").map(({ name }) => path.relative(copy, name));
  if (failed.length > 0) say(`mutation: left out, since they fail without a mutant: ${failed.join(", ")}`);
  return readdirSync(coverage)
    .map((name) => path.join(coverage, name))
    .filter((file) => file !== jestReport)
    .map((file) => JSON.parse(readFileSync(file, "utf8")))
    .filter(({ file }) => !failed.includes(file))
    .map(({ file, seconds, mutants }) => ({ file, seconds, mutants: new Set(mutants) }))
    .sort((a, b) => a.seconds - b.seconds);
}

async function measure({ id }, tests) {
  const covering = tests.filter(({ mutants }) => mutants.has(id));
  if (covering.length === 0) return { outcome: "survived", note: "no test runs it" };
  const files = covering.map(({ file }) => file);
  const seconds = 120 + 10 * covering.reduce((sum, { seconds }) => sum + seconds, 0);
  const env = { __STRYKER_ACTIVE_MUTANT__: id, HEADWISE_ORDER: JSON.stringify(files) };
  const { outcome, output } = await jest(files, { env, seconds, more: ["--runInBand", "--bail"] });
  if (outcome === "passed") return { outcome: "survived", note: `${files.length} test files run it` };
  if (outcome === "timeout") return { outcome };
  return { outcome: "killed", by: /KILLED BY (.*)/.exec(output)?.[1] ?? "a test file that cannot be loaded" };
}

/**
 * Measures mutants, one after another.
 *
 * @param {object[]} chosen
 * @param {(mutant: object, result: object) => void} report
 */
export async function run(chosen, report) {
  await prepare();
  const tests = await coverageOfTests();
  for (const mutant of chosen) report(mutant, await measure(mutant, tests));
}
