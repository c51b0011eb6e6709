// What the figures were measured on, in words.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";

const version = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;

function commit() {
  try {
    return ` (${execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim()})`;
  } catch {
    return ""; // a copy without git
  }
}

export function machine() {
  const processor = cpus()[0]?.model.trim() ?? process.arch;
  return `headwise ${version()}${commit()}, ${processor}, ${availableParallelism()} cores, Node ${process.version}`;
}
