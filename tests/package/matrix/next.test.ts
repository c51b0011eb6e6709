// Next, by both of its bundlers. Pages are rendered in Node first, where importing headwise must do nothing.

import { copyFile, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { beforeAll, expect, test } from "@jest/globals";

import { firstRows } from "../expected.js";
import { closeTo, expectBothWays } from "../pages.js";
import { pageProject } from "../pageProject.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

const NEEDED = ["next", "react", "react-dom"];

const project = pageProject();

/** Next does not look outside the project: it is installed there, as our lock file says, from npm's cache. */
async function installNext(folder: string): Promise<void> {
  await copyFile("tests/package/package-lock.json", path.join(folder, "package-lock.json"));
  const [own, ours] = await Promise.all([manifestIn(folder), manifestIn("tests/package")]);
  const versions = Object.fromEntries(NEEDED.map((name) => [name, ours["optionalDependencies"]![name]]));
  const dependencies = { ...own["dependencies"], ...versions };
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ ...own, dependencies }));
  const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags], { cwd: folder });
}

type Manifest = Readonly<Record<string, Readonly<Record<string, string>>>>;
const manifestIn = async (folder: string) =>
  JSON.parse(await readFile(path.join(folder, "package.json"), "utf8")) as Manifest;

describeWith(NEEDED.map(tool), "next build", () => {
  beforeAll(async () => {
    await project.consumer.add("next");
    await installNext(project.consumer.folder);
  });

  const build = async (bundler: string) => {
    const { folder } = project.consumer;
    const next = path.join(folder, "node_modules/next/dist/bin/next");
    const said = await run(process.execPath, [next, "build", bundler], { cwd: folder });
    expect(said).not.toMatch(/warn/i);
    return path.join(folder, "site");
  };
  const BUNDLERS = ["--turbopack", "--webpack"];

  test.each(BUNDLERS)("%s: headwise and headwise/worker compute", async (bundler) => {
    const site = await build(bundler);
    for (const page of ["", "worker.html"]) await expectBothWays(project.browser, site, page);
  });

  test.each(BUNDLERS)("%s: headwise/worker computes on the server, left outside of the bundle", async (bundler) => {
    await project.consumer.add("nextServer");
    const answer = await readFile(path.join(await build(bundler), "server.json"), "utf8");
    expect(JSON.parse(answer)).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
  });
});
