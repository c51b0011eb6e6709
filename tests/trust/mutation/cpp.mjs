// Mutants of the C++ core: each is compiled in a tree of its own and meets the native tests.

import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

import { root } from "../../../web/build/paths.mjs";
import { say } from "../../../web/build/run.mjs";
import { whenStale } from "../../../web/build/stale.mjs";
import { cppAreas } from "./areas.mjs";
import { mutantsOf, mutated } from "./operators.mjs";
import { mustPass, outcomeOf } from "./program.mjs";
import { copyTree } from "../tree.mjs";
import { mutationFolder } from "./folder.mjs";

const source = path.join(mutationFolder, "cpp/source");
const binary = path.join(mutationFolder, "cpp/build");
const secondsFile = path.join(mutationFolder, "cpp/seconds.json");

const TREE = ["CMakeLists.txt", "package.json", "cpp", "tests/cpp", "tests/cases"];

/** Compiling less well than a release takes half the time, and the tests still take only a minute. */
const FLAGS = [
  "-DHEADWISE_UNITY=OFF",
  "-DCMAKE_BUILD_TYPE=Release",
  "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
  "-DHEADWISE_TESTS=ON",
];

/** The mutants of each area. */
export function mutants() {
  const ofFile = (area) => (file) =>
    mutantsOf(file, readFileSync(path.join(root, file), "utf8")).map((mutant) => ({ ...mutant, area }));
  return new Map(cppAreas.map(({ name, files }) => [name, files.flatMap(ofFile(name))]));
}

const compile = (seconds) =>
  outcomeOf("ninja", ["-C", binary, "-j", String(availableParallelism()), "headwise_tests"], { cwd: root, seconds });

const test = (filter, seconds) =>
  outcomeOf(
    path.join(binary, "tests/cpp/headwise_tests"),
    ["--gtest_fail_fast", "--gtest_brief=1", `--gtest_filter=${filter}`],
    {
      cwd: root,
      seconds,
    },
  );

/** Copies the tree and compiles it without a mutant. */
async function prepare() {
  copyTree(source, TREE);
  await mustPass("cmake", ["-S", source, "-B", binary, "-G", "Ninja", ...FLAGS], { cwd: root });
  say("mutation: compiling the C++ tests");
  await mustPass("ninja", ["-C", binary, "headwise_tests"], { cwd: root });
}

/** Runs all tests without a mutant, and writes how many seconds they took. */
async function runWithoutMutant() {
  say("mutation: running the C++ tests without a mutant");
  const begin = performance.now();
  const { outcome, output } = await test("*", 7200);
  if (outcome !== "passed") throw new Error(`the C++ tests fail without a mutant:\n${output.slice(-4000)}`);
  writeFileSync(secondsFile, JSON.stringify((performance.now() - begin) / 1000));
}

/** After this many seconds a test does not end. */
async function limit() {
  await whenStale("mutation-cpp", { inputs: TREE, outputs: [path.relative(root, secondsFile)] }, runWithoutMutant);
  return 60 + 10 * JSON.parse(readFileSync(secondsFile, "utf8"));
}

/** What the tests say of the mutant that is compiled: its area's suites first, then all others. */
async function verdictOf({ area }, seconds) {
  const suites = cppAreas.find(({ name }) => name === area).suites.join(":");
  for (const filter of [suites, `*-${suites}`]) {
    const { outcome, output } = await test(filter, seconds);
    if (outcome === "timeout") return { outcome };
    if (outcome === "failed")
      return { outcome: "killed", by: /\[ {2}FAILED {2}\] (\S+)/.exec(output)?.[1] ?? "a crash" };
  }
  return { outcome: "survived" };
}

async function measure(mutant, seconds) {
  const file = path.join(source, mutant.file);
  const text = readFileSync(path.join(root, mutant.file), "utf8");
  writeFileSync(file, mutated(text, mutant));
  try {
    const { outcome } = await compile(1800);
    return outcome === "passed" ? await verdictOf(mutant, seconds) : { outcome: "not compiled" };
  } finally {
    writeFileSync(file, text);
  }
}

/**
 * Measures mutants, those of a file one after another: then each costs one compilation.
 *
 * @param {object[]} chosen
 * @param {(mutant: object, result: object) => void} report
 */
export async function run(chosen, report) {
  await prepare();
  const seconds = await limit();
  const inOrder = [...chosen].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  for (const mutant of inOrder) report(mutant, await measure(mutant, seconds));
}
