// A release, dry: what the publish workflow does, in a fresh clone and up to the moment before it would send anything.

import { readFile, rm, symlink } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { freshClone } from "../freshClone.js";
import { run } from "../programs.js";

let clone: string;
beforeAll(async () => {
  clone = await freshClone();
  await symlink(path.resolve("node_modules"), path.join(clone, "node_modules"));
});
afterAll(() => rm(clone, { recursive: true, force: true }));

const versionOf = async () =>
  (JSON.parse(await readFile(path.join(clone, "package.json"), "utf8")) as { version: string }).version;

test("the notes of all changes raise the version and fill the changelog", async () => {
  const before = await versionOf();
  await run(process.execPath, [path.resolve("node_modules/@changesets/cli/bin.js"), "version"], { cwd: clone });
  const after = await versionOf();
  const changelog = await readFile(path.join(clone, "CHANGELOG.md"), "utf8");
  expect(after).not.toBe(before);
  expect(changelog).toContain(`## ${after}`);
});

test("npm would publish the package, as it stands", async () => {
  const printed = await run("npm", ["publish", "--dry-run", "--ignore-scripts", "--json"], { cwd: clone });
  expect(printed).toContain(`"headwise@${await versionOf()}"`); // versions of npm print it at different depths
});
