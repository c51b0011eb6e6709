// Two builds of one state of the sources, in two folders, give the same bytes: whoever has the commit can check the package.
// The second starts from a fresh clone, packages and C++ included.

import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { TEST_MILLISECONDS, WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { pack } from "../consumer.js";
import { freshClone } from "../freshClone.js";
import { run } from "../programs.js";

let folder: string;
let clone: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "headwise-packed-"));
  clone = await freshClone();
});
afterAll(() => Promise.all([folder, clone].map((place) => rm(place, { recursive: true, force: true }))));

/** The files of a package, each with the hash of its bytes. */
async function fingerprint(tarball: string): Promise<Record<string, string>> {
  const unpacked = await mkdtemp(path.join(folder, "unpacked-"));
  await run("tar", ["-xzf", tarball, "-C", unpacked]);
  const entries = await readdir(unpacked, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const hashed = files.map(async (file): Promise<[string, string]> => {
    const hash = createHash("sha256").update(await readFile(file));
    return [path.relative(unpacked, file), hash.digest("hex")];
  });
  return Object.fromEntries(await Promise.all(hashed));
}

test(
  "npm pack in a fresh clone gives the same files as here",
  async () => {
    await run("npm", ["pack", "--pack-destination", clone], { cwd: clone, timeout: 4 * WAIT_MILLISECONDS });
    const [theirs] = (await readdir(clone)).filter((name) => name.endsWith(".tgz"));
    expect(await fingerprint(path.join(clone, theirs!))).toEqual(await fingerprint(await pack(folder)));
  },
  4 * TEST_MILLISECONDS,
);
