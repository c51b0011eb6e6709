// Runs a step only if its inputs have changed.

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

import { forgetNote, readNote, writeNote } from "./note.mjs";
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
  if (readNote(stamp) === digest && outputs.every(isThere)) return;
  forgetNote(stamp);
  say(`build: ${name}`);
  await action();
  writeNote(stamp, digest);
}

/** A digest of the names and contents of files and folders. */
export function digestOf(inputs) {
  const hash = createHash("sha256");
  for (const file of inputs.flatMap(filesIn)) hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest("hex");
}

/** The file itself, or all files in the folder, or nothing if the path does not exist. */
function filesIn(input) {
  const found = statSync(path.join(root, input), { throwIfNoEntry: false });
  if (!found) return [];
  return found.isFile() ? [input] : filesBelow(input).sort();
}

function filesBelow(folder) {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const inside = path.join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesBelow(inside);
    return entry.isFile() ? [inside] : [];
  });
}
