// What a run leaves for the next one: which steps are done, which stages have passed. A note that cannot be read, because
// it is damaged or something else lies in its place, is as one that is not there.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * @template T
 * @param {string} file
 * @param {(text: string) => T} [parse] - throws if the text is damaged
 * @returns {T | undefined}
 */
export function readNote(file, parse = String) {
  try {
    return parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

export const forgetNote = (file) => rmSync(file, { recursive: true, force: true });

/** A run that is killed meanwhile leaves no half of a note. */
export function writeNote(file, text) {
  mkdirSync(path.dirname(file), { recursive: true });
  forgetNote(file);
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
