import { existsSync } from "node:fs";
import path from "node:path";

import { describe } from "@jest/globals";

const tools = path.resolve("tests/package/node_modules");

/** The address inside this repository of what tests/package/package.json installs: a program, or a whole package. */
export const tool = (file: string) => path.join(tools, file);

const runtimes = path.resolve("tests/package/runtimes/node_modules");

/** The same of what tests/package/runtimes/package.json installs. */
export const runtime = (file: string) => path.join(runtimes, file);

/** Tools may want a newer Node than the one that runs the tests. */
export const newestNode = existsSync(runtime("node24/bin/node")) ? runtime("node24/bin/node") : process.execPath;

/** Tests that need these files; where one is not, because it could not be had, they are skipped, and their name says so. */
export function describeWith(needed: readonly string[], name: string, tests: () => void): void {
  const missing = needed.filter((file) => !existsSync(file)).map((file) => file.replace(/.*node_modules./, ""));
  if (missing.length === 0) describe(name, tests);
  else describe.skip(`${name} (skipped, not installed: ${missing.join(", ")})`, tests);
}
