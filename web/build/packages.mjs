// Installs node_modules as the lock file says. This file must not import anything from node_modules, because it may not
// exist yet.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { installSize } from "../../tests/figures/installs.mjs";
import { readNote } from "./note.mjs";
import { root } from "./paths.mjs";
import { run, say } from "./run.mjs";

/** Seconds before each try, because registries are sometimes unavailable for minutes. */
const PAUSES = [0, 10, 30];

/**
 * npm gives up if there is no answer in a minute, twice. During `npm pack --dry-run` npm would only pretend to install,
 * so that is switched off.
 */
const NPM_CI = [
  "ci",
  "--loglevel=warn",
  "--ignore-scripts",
  "--dry-run=false",
  "--fetch-timeout=60000",
  "--fetch-retries=1",
];

/**
 * Installs what users run headwise with: first the JavaScript engines, then the tools. The tools are installed with the
 * newest Node among the engines, because npm leaves out an optional package that needs a newer Node than npm runs on.
 */
export async function installConsumers() {
  const tools = path.join(root, "tests/package");
  const runtimes = path.join(tools, "runtimes");
  await installPackages({ folder: runtimes });
  const newestNode = path.join(runtimes, "node_modules/node24/bin");
  const env = { PATH: `${newestNode}${path.delimiter}${process.env.PATH}` };
  await installPackages({ folder: tools, env });
}

/**
 * Installs the npm packages of a folder if they are missing or differ from its lock file. If an optional package cannot
 * be installed, this prints a message and goes on; any other failure is an error.
 *
 * @param {object} [options]
 * @param {string} [options.folder]
 * @param {object} [options.env]
 * @param {boolean} [options.withTools] - false: without the packages of tests/tools, four fifths of all, which only tests,
 *   checks, types and releases need. They stay if they are here.
 */
export async function installPackages({ folder = root, env = {}, withTools = true } = {}) {
  let trouble;
  for (const pause of PAUSES) {
    if (isInstalled(folder, withTools) && absent(folder).length === 0) return;
    if (pause > 0) say(`packages: not all came, once more in ${pause} s`);
    await sleep(pause * 1000);
    say(`packages: npm ci (about ${installSize(path.relative(root, folder), withTools)} on disk)`);
    const options = [
      ...(withTools ? [] : ["--workspaces=false"]),
      ...(pause === 0 ? ["--prefer-offline"] : []), // after a failure npm must check whether its cache is old
    ];
    trouble = await run("npm", [...NPM_CI, ...options], { cwd: folder, env }).catch((error) => error);
  }
  if (trouble) throw trouble;
  const names = absent(folder);
  if (names.length > 0) say(`packages: could not be fetched in ${PAUSES.length} tries: ${names.join(", ")}`);
}

/** Whether what is installed is as the lock file says, and nothing is missing. */
function isInstalled(folder, withTools) {
  const installed = readNote(path.join(folder, "node_modules/.package-lock.json"), JSON.parse)?.packages;
  if (!installed) return false;
  const { "": project, ...locked } = packagesOf(path.join(folder, "package-lock.json"));
  const isAsLocked = (name) => installed[name].version === locked[name]?.version;
  const needed = withTools
    ? Object.keys(locked)
    : Object.keys(project.devDependencies).map((name) => `node_modules/${name}`);
  return Object.keys(installed).every(isAsLocked) && needed.every((name) => installed[name] ?? locked[name].optional);
}

/** The optional packages of the folder that are for this system and are not installed. */
function absent(folder) {
  const locked = packagesOf(path.join(folder, "package-lock.json"));
  const names = Object.keys(locked[""].optionalDependencies ?? {});
  const isHere = (name) => existsSync(path.join(folder, "node_modules", name));
  return names.filter((name) => isForThisSystem(locked[`node_modules/${name}`]) && !isHere(name));
}

const isForThisSystem = ({ os, cpu }) =>
  (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true);

const packagesOf = (lockFile) => JSON.parse(readFileSync(lockFile, "utf8")).packages;
