// How a row runs the project's own test runners.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

import { jestCounts } from "../../web/build/counts.mjs";
import { judged } from "../../web/build/nativeTests.mjs";
import { root } from "../../web/build/paths.mjs";
import { ended, start } from "../../web/build/run.mjs";

/** Runs a program and shows its output; resolves to its exit status. */
export const statusOf = (program, args, env = {}, cwd = root) =>
  ended(start(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "inherit", "inherit"], cwd }));

const MODULE_FLAGS = ["--experimental-vm-modules", "--no-warnings=ExperimentalWarning"];

/** Node's arguments for the tests of ES modules; Node 20 has relaxed SIMD behind a flag. */
export const nodeFlags = () => [
  ...MODULE_FLAGS,
  ...(Number(process.versions.node.split(".")[0]) < 22 ? ["--experimental-wasm-relaxed-simd"] : []),
];

/** The same without relaxed SIMD: an instance then takes plain SIMD. */
export const plainFlags = [...MODULE_FLAGS, "--no-experimental-wasm-relaxed-simd"];

/**
 * Runs test files with Jest; resolves to how many tests passed, failed and were skipped.
 *
 * @param {string} folder - of the row, for the report
 * @param {string[]} patterns - of the files
 * @param {Record<string, string>} [env] - more environment for the tests
 * @param {string[]} [more] - more arguments for Jest
 * @param {object} [place]
 * @param {string} [place.cwd] - the repository, or a copy of it
 * @param {string[]} [place.flags] - for Node
 */
export async function jest(folder, patterns, env = {}, more = [], { cwd = root, flags = nodeFlags() } = {}) {
  mkdirSync(folder, { recursive: true });
  const report = path.join(folder, "jest.json");
  rmSync(report, { force: true }); // that of an earlier run says nothing if this one is ended
  const args = ["--config", "tests/jest.config.mjs", "--json", `--outputFile=${report}`, ...more, ...patterns];
  const status = await statusOf(process.execPath, [...flags, "node_modules/jest/bin/jest.js", ...args], env, cwd);
  return judged(jestCounts(report), status);
}

/**
 * What the generated tests read: how many calls, and the seed. One test may take half an hour. They use no browser, which
 * would need a core for itself.
 */
export const generated = (calls, seed) => [
  { HEADWISE_CALLS: String(calls), HEADWISE_SEED: String(seed) },
  ["--testTimeout=1800000", "--maxWorkers=100%"],
];

/**
 * Makes a program of a TypeScript file that reads other TypeScript.
 *
 * @param {string} entry - in the repository
 * @param {string} folder - inside the repository, so that the program finds `headwise`
 * @returns {Promise<string>} the program's path
 */
export async function compiled(entry, folder) {
  const { build } = await import("esbuild"); // Jest, which loads all rows, cannot load it
  const outfile = path.join(folder, `${path.basename(entry, ".ts")}.mjs`);
  const options = { bundle: true, platform: "node", format: "esm", target: "es2022", packages: "external" };
  await build({ entryPoints: [path.join(root, entry)], outfile, ...options, logLevel: "warning" });
  return outfile;
}

/**
 * Runs a Node program that writes a JSON report to the file that is its first argument; resolves to the report. Throws if
 * the program fails, or is not done after this many minutes: then it hangs, and is ended.
 *
 * @param {object} [more]
 * @param {Record<string, string>} [more.env] - more environment for it
 * @param {string[]} [more.flags] - more flags for Node
 */
export async function reportOf(folder, name, program, args, minutes, { env = {}, flags = [] } = {}) {
  const report = path.join(folder, `${name}.json`);
  const stdio = ["ignore", "inherit", "inherit"];
  const options = { stdio, env: { ...process.env, ...env } };
  const child = start(
    process.execPath,
    [...nodeFlags(), "--expose-gc", ...flags, program, report, ...args.map(String)],
    options,
  );
  const timer = setTimeout(() => child.kill("SIGKILL"), minutes * 60_000);
  const status = await ended(child);
  clearTimeout(timer);
  if (status !== 0)
    throw new Error(`${name}: ended with ${status}${status === "SIGKILL" ? `, after ${minutes} min` : ""}`);
  return JSON.parse(readFileSync(report, "utf8"));
}
