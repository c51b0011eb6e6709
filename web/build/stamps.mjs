// Remembers which stages of `npm test` have passed, with the sources that they read.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build } from "./paths.mjs";
import { digestOf } from "./stale.mjs";

/** Files that every C++ test, every test of the package and every linter may depend on. */
export const CORE = ["cpp", "tests/cpp", "tests/cases", "CMakeLists.txt", "CMakePresets.json", "web/build"];

/** A text that changes if the sources of a stage, how much of it runs, or the version of Node change. */
export const stageDigest = (reads, depth = "") => `${process.version} ${depth} ${digestOf(reads)}`;

const stampOf = (stage) => path.join(build, "stamps", `test-${stage}.json`);

/** The counts of a stage that has passed with these sources, or undefined. */
export function passedBefore(stage, digest) {
  const stamp = stampOf(stage);
  const last = existsSync(stamp) ? JSON.parse(readFileSync(stamp, "utf8")) : undefined;
  return last?.digest === digest ? last.counts : undefined;
}

export const forgetPassed = (stage) => rmSync(stampOf(stage), { force: true });

export function rememberPassed(stage, digest, counts) {
  mkdirSync(path.join(build, "stamps"), { recursive: true });
  writeFileSync(stampOf(stage), JSON.stringify({ digest, counts }));
}
