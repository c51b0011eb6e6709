// Two builds of one state of the sources, in two folders, give the same bytes: whoever has the commit can check the package.
// The second starts from a bare clone, packages included.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { TEST_MILLISECONDS, WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { run } from "../programs.js";

let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(path.join(tmpdir(), "headwise-rebuilt-"));
});
afterAll(() => rm(copy, { recursive: true, force: true }));

const sourcesOf = async (repository: string): Promise<string[]> => {
  const names = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: repository });
  return names.split("\0").filter((name) => name !== "" && existsSync(path.join(repository, name)));
};

/** The files of a folder, each with the hash of its bytes. */
async function fingerprint(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const hashed = files.map(async (file): Promise<[string, string]> => {
    const hash = createHash("sha256").update(await readFile(file));
    return [path.relative(folder, file), hash.digest("hex")];
  });
  return Object.fromEntries(await Promise.all(hashed));
}

test(
  "a build in another folder gives the same files",
  async () => {
    const repository = path.resolve(".");
    for (const name of await sourcesOf(repository)) await cp(path.join(repository, name), path.join(copy, name));
    await run(process.execPath, ["web/build/build.mjs"], { cwd: copy, timeout: 2 * WAIT_MILLISECONDS });
    expect(await fingerprint(path.join(copy, "dist"))).toEqual(await fingerprint(path.join(repository, "dist")));
  },
  2 * TEST_MILLISECONDS,
);
