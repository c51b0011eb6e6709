// Runs a step only if its inputs have changed.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build, root } from "./paths.mjs";
import { say } from "./run.mjs";

/**
 * Runs `action`, unless its inputs have the same content as at its last success and its outputs exist.
 *
 * @param {string} name
 * @param {{ inputs: string[], outputs: string[], also?: string }} files - paths from the root; an input may be a folder.
 *   also: what the action depends on beside them
 * @param {() => Promise<void>} action
 */
export async function whenStale(name, { inputs, outputs, also = "" }, action) {
  const stamp = path.join(build, "stamps", name);
  const digest = `${also}${digestOf(inputs)}`;
  const isThere = (file) => existsSync(path.join(root, file));
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest && outputs.every(isThere)) return;
  rmSync(stamp, { force: true });
  say(`build: ${name}`);
  await action();
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
}

/** A digest of the names and contents of files and folders. */
export function digestOf(inputs) {
  const hash = createHash("sha256");
  for (const file of inputs.flatMap(filesIn)) hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest("hex");
}

/** The file itself, or all files in the folder, or nothing if the path does not exist. */
function filesIn(input) {
  const full = path.join(root, input);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [input];
  const entries = readdirSync(full, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)));
  return files.filter((file) => !file.split(path.sep).includes("node_modules")).sort();
}
