// The linters for everything except C++. Each counts as one test.

import { add, nothing, oneFailed } from "./counts.mjs";
import { ended, say, start } from "./run.mjs";

/** TypeScript 7 checks the types. TypeScript 6 is here too: other programs need its API. Both have a command `tsc`. */
const linters = [
  ["oxlint", "node_modules/oxlint/bin/oxlint"],
  ["oxfmt", "node_modules/oxfmt/bin/oxfmt", "--check"],
  ["tsc", "node_modules/typescript-native/bin/tsc", "--project", "web"],
];

export async function lintWeb() {
  const counts = await Promise.all(linters.map(verdict));
  return counts.reduce(add);
}

async function verdict([name, ...args]) {
  const status = await ended(start(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] }));
  say(`${name}: ${status === 0 ? "passed" : "FAILED"}`);
  return status === 0 ? { ...nothing, passed: 1 } : oneFailed;
}
