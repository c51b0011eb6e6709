// Mutants that change nothing which the contract promises: equivalent.json beside this file says why.

import { readFileSync } from "node:fs";

/**
 * A mutant is known by its file and by its line before and after. Line numbers may change.
 *
 * @type {{ file: string, before: string, after: string, reason: string }[]}
 */
export const equivalents = JSON.parse(readFileSync(new URL("equivalent.json", import.meta.url), "utf8"));

/** Why the mutant is equivalent, or undefined. */
export const reasonOf = (mutant) =>
  equivalents.find(
    ({ file, before, after }) => file === mutant.file && before === mutant.before && after === mutant.after,
  )?.reason;
