// A copy of the repository's files, which a row may change. The working tree is never changed.

import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";

/** The files of the working tree under these paths, also new ones. */
function filesUnder(paths) {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...paths];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 }).split("\0");
  return listed.filter((file) => file !== "" && existsSync(path.join(root, file)));
}

const isSame = (a, b) => existsSync(b) && readFileSync(a).equals(readFileSync(b));

/**
 * Copies the files under `paths` to `folder`. Files that have not changed keep their time, so that a build there goes on
 * from where it was.
 */
export function copyTree(folder, paths) {
  for (const file of filesUnder(paths)) {
    const [from, to] = [path.join(root, file), path.join(folder, file)];
    if (isSame(from, to)) continue;
    mkdirSync(path.dirname(to), { recursive: true });
    copyFileSync(from, to);
  }
}

/** Makes `name` in the copy a link to the same name in the repository. */
export function linkTo(folder, name) {
  const link = path.join(folder, name);
  rmSync(link, { force: true, recursive: true });
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.join(root, name), link);
}
