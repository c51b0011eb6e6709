// node_modules as the lock file says. Nothing from node_modules may be imported here: it may not be there yet.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { root } from "./paths.mjs";
import { run, say } from "./run.mjs";

/** Seconds before each try: registries have bad minutes. */
const PAUSES = [0, 10, 30];

/** What does not answer in a minute, twice, npm gives up. Under `npm pack --dry-run` packages are needed all the same. */
const NPM_CI = [
  "ci",
  "--loglevel=warn",
  "--ignore-scripts",
  "--dry-run=false",
  "--fetch-timeout=60000",
  "--fetch-retries=1",
];

/**
 * What users run headwise with. First the JavaScript engines, then the tools, under the newest Node among them: npm leaves
 * an optional package away that wants a newer Node than npm itself runs on.
 */
export async function installConsumers() {
  const tools = path.join(root, "tests/package");
  const runtimes = path.join(tools, "runtimes");
  await installPackages({ folder: runtimes, size: "570 MB" });
  const newestNode = path.join(runtimes, "node_modules/node24/bin");
  const env = { PATH: `${newestNode}${path.delimiter}${process.env.PATH}` };
  await installPackages({ folder: tools, size: "1.3 GB", env });
}

/**
 * Installs the npm packages of a folder when they are missing or are not the ones that its lock file names. Its optional
 * ones stay away if they cannot be had, with a word; any other is an error.
 */
export async function installPackages({ folder = root, size = "350 MB", env = {} } = {}) {
  let trouble;
  for (const pause of PAUSES) {
    if (isInstalled(folder) && absent(folder).length === 0) return;
    if (pause > 0) say(`packages: not all came, once more in ${pause} s`);
    await sleep(pause * 1000);
    say(`packages: npm ci (about ${size} on disk)`);
    const fromCache = pause === 0 ? ["--prefer-offline"] : []; // later, npm shall look whether its cache is old
    trouble = await run("npm", [...NPM_CI, ...fromCache], { cwd: folder, env }).catch((error) => error);
  }
  if (trouble) throw trouble;
  const names = absent(folder);
  if (names.length > 0) say(`packages: could not be fetched in ${PAUSES.length} tries: ${names.join(", ")}`);
}

function isInstalled(folder) {
  const record = path.join(folder, "node_modules/.package-lock.json");
  if (!existsSync(record)) return false;
  const installed = packagesOf(record);
  const locked = packagesOf(path.join(folder, "package-lock.json"));
  delete locked[""]; // the project itself
  const isAsLocked = (name) =>
    installed[name] ? installed[name].version === locked[name].version : locked[name].optional;
  return Object.keys(locked).every(isAsLocked);
}

/** The optional packages that the folder itself names, are for this system, and are not there. */
function absent(folder) {
  const locked = packagesOf(path.join(folder, "package-lock.json"));
  const names = Object.keys(locked[""].optionalDependencies ?? {});
  const isHere = (name) => existsSync(path.join(folder, "node_modules", name));
  return names.filter((name) => isForThisSystem(locked[`node_modules/${name}`]) && !isHere(name));
}

const isForThisSystem = ({ os, cpu }) =>
  (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true);

const packagesOf = (lockFile) => JSON.parse(readFileSync(lockFile, "utf8")).packages;
