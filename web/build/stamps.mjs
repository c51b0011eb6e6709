// Remembers which stages of `npm test` have passed, with the sources that they read.

import path from "node:path";

import { forgetNote, readNote, writeNote } from "./note.mjs";
import { build } from "./paths.mjs";
import { digestOf } from "./stale.mjs";

/** Files that every C++ test, every test of the package and every linter may depend on. */
export const CORE = ["cpp", "tests/cpp", "tests/cases", "CMakeLists.txt", "CMakePresets.json", "web/build"];

/** A text that changes if the sources of a stage, how much of it runs, or the version of Node change. */
export const stageDigest = (reads, depth = "") => `${process.version} ${depth} ${digestOf(reads)}`;

const stampOf = (stage) => path.join(build, "stamps", `test-${stage}.json`);

/** The counts of a stage that has passed with these sources, or undefined. */
export function passedBefore(stage, digest) {
  const last = readNote(stampOf(stage), JSON.parse);
  return last?.digest === digest ? last.counts : undefined;
}

export const forgetPassed = (stage) => forgetNote(stampOf(stage));

export const rememberPassed = (stage, digest, counts) => writeNote(stampOf(stage), JSON.stringify({ digest, counts }));
