import { existsSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { run } from "./programs.js";

const root = path.resolve(".");

/**
 * A clone of this repository in a folder far from it, as one has it who is about to publish: nothing is built, no package
 * is installed. What is not committed here is laid over it, so that a test judges the sources that stand here.
 *
 * @param name - how the name of the folder begins
 */
export async function freshClone(name = "headwise-clone-"): Promise<string> {
  const clone = await mkdtemp(path.join(tmpdir(), name));
  await run("git", ["clone", "--quiet", root, clone]);
  for (const file of await uncommitted()) {
    const [from, to] = [path.join(root, file), path.join(clone, file)];
    await (existsSync(from) ? cp(from, to) : rm(to));
  }
  return clone;
}

async function uncommitted(): Promise<string[]> {
  const namesOf = async (...command: string[]) => (await run("git", [...command, "-z"], { cwd: root })).split("\0");
  const changed = await namesOf("diff", "--name-only", "--no-renames", "HEAD");
  const added = await namesOf("ls-files", "--others", "--exclude-standard");
  return [...changed, ...added].filter((name) => name !== "");
}
