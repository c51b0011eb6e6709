// node_modules as the lock file says. Nothing from node_modules may be imported here: it may not be there yet.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { root } from "./paths.mjs";
import { run, say } from "./run.mjs";

/** Installs the npm packages of a folder when they are missing or are not the ones that its lock file names. */
export async function installPackages({ folder = root, size = "350 MB" } = {}) {
  if (isInstalled(folder)) return;
  say(`packages: npm ci (about ${size} on disk)`);
  await run("npm", ["ci", "--loglevel=warn", "--ignore-scripts"], { cwd: folder });
}

function isInstalled(folder) {
  const record = path.join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const locked = packagesOf(path.join(folder, "package-lock.json"));
  delete locked[""]; // the project itself
  const sameVersion = (name) => installed[name]?.version === locked[name].version;
  // Packages for other operating systems are optional and stay away.
  return Object.keys(locked).every((name) => sameVersion(name) || (locked[name].optional && !installed[name]));
}

const packagesOf = (lockFile) => JSON.parse(readFileSync(lockFile, "utf8")).packages;
