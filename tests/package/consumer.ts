import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { run } from "./programs.js";

const root = path.resolve(".");

/** Packs the package as npm would publish it. */
export async function pack(folder: string): Promise<string> {
  const answer = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root });
  const [{ filename }] = JSON.parse(answer) as [{ filename: string }];
  return path.join(folder, filename);
}

/** A project of somebody else's, in a folder of its own far from this repository. */
export interface Consumer {
  readonly folder: string;
  /** Adds the files of a folder of tests/package/consumers/. */
  add(name: string): Promise<void>;
  /** Lets the project import what tests/package/package.json installs, from the folder above it. */
  useTools(): Promise<void>;
  remove(): Promise<void>;
}

/** An empty project with the packed package installed by npm. */
export async function emptyConsumer(): Promise<Consumer> {
  const place = await mkdtemp(path.join(tmpdir(), "headwise-consumer-"));
  const folder = path.join(place, "project");
  await mkdir(folder);
  await writeFile(path.join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  const tarball = await pack(folder);
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder });
  return {
    folder,
    add: (name) => cp(path.join(root, "tests/package/consumers", name), folder, { recursive: true }),
    useTools: () => symlink(path.join(root, "tests/package/node_modules"), path.join(place, "node_modules")),
    remove: () => rm(place, { recursive: true, force: true }),
  };
}
