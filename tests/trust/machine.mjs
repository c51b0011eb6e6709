// What the figures were measured on, in words.

import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";
import { commit } from "../bench/schema/libraries.mjs";

const version = () => JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;

export function machine() {
  const made = commit() ?? "no commit"; // a copy without git has none
  const processor = cpus()[0]?.model.trim() ?? process.arch;
  return `headwise ${version()} (${made}), ${processor}, ${availableParallelism()} cores, Node ${process.version}`;
}
