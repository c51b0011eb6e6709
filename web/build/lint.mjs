// The linters for everything except C++. Each counts as one test.

import { add, nothing, oneFailed } from "./counts.mjs";
import { ended, say, start } from "./run.mjs";

/** What eslint has seen before it does not look at again, unless everything is tested: a rule may read other files. */
const CACHED = ["--cache", "--cache-strategy=content", "--cache-location=build/eslint/"];

const linters = (isAll) => [
  ["eslint", "node_modules/eslint/bin/eslint.js", ".", ...(isAll ? [] : CACHED)],
  ["prettier", "node_modules/prettier/bin/prettier.cjs", "--check", "."],
  ["tsc", "node_modules/typescript/bin/tsc", "--project", "web"],
];

export async function lintWeb(isAll) {
  const counts = await Promise.all(linters(isAll).map(verdict));
  return counts.reduce(add);
}

async function verdict([name, ...args]) {
  const status = await ended(start(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] }));
  say(`${name}: ${status === 0 ? "passed" : "FAILED"}`);
  return status === 0 ? { ...nothing, passed: 1 } : oneFailed;
}
