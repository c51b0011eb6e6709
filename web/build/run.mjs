// Starts programs. All their output goes to stderr, because stdout belongs to the command that the user has typed; or to the
// log of the stage of `npm test` that started them.

import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";

import { root } from "./paths.mjs";

/** What is running: the programs it started, and the file for their output, if they have one. */
const current = new AsyncLocalStorage();

/** Does work whose programs can be ended by themselves and whose output goes into a file, if one is named. */
export const apart = (work, log) => {
  const own = { leaders: new Set(), log };
  return { done: current.run(own, work), end: () => endAll(own.leaders) };
};

export function say(line) {
  const log = current.getStore()?.log;
  if (log === undefined) console.error(line);
  else writeSync(log, `${line}\n`);
}

/** The leaders of all running process groups. */
const leaders = new Set();
let areGrouped = false;

/**
 * From now on every program gets a process group of its own, with all programs that it starts. The groups end together
 * with this process. Ctrl-C in a terminal reaches only this process, and ends it.
 */
export function useGroups() {
  areGrouped = true;
  process.on("exit", endGroups);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
}

/** Ends all running groups. */
export const endGroups = () => endAll(leaders);

function endAll(groups) {
  for (const leader of groups)
    try {
      process.kill(-leader, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error; // it has already ended
    }
}

/**
 * Starts a program in the repository's root. `"inherit"` and 2 in its `stdio` mean the log of the stage, where there is one.
 */
export function start(program, args, { stdio, ...options }) {
  const own = current.getStore();
  const output = (each) => (each === "inherit" || each === 2 ? (own?.log ?? each) : each);
  const all = typeof stdio === "string" ? [stdio, stdio, stdio] : stdio;
  const child = spawn(program, args, { cwd: root, detached: areGrouped, ...options, stdio: all.map(output) });
  if (!areGrouped || !child.pid) return child;
  for (const set of [leaders, own?.leaders]) set?.add(child.pid);
  return child.on("close", () => {
    for (const set of [leaders, own?.leaders]) set?.delete(child.pid);
  });
}

/**
 * Runs a program to its end. Throws if it fails.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, cwd?: string, quiet?: boolean }} options - quiet: output only if it fails
 */
export async function run(program, args, { quiet = false, ...options } = {}) {
  const stdio = quiet ? ["ignore", "pipe", "pipe"] : ["ignore", 2, 2];
  const child = start(program, args, { stdio, ...options, env: { ...process.env, ...options.env } });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => output.push(chunk));
  const code = await ended(child);
  if (code === 0) return;
  if (output.length > 0) say(String(Buffer.concat(output)));
  throw new Error(`${program} ${args.join(" ")}: ended with ${code}`);
}

/** @returns {Promise<number | string>} the exit status, or the signal that ended it */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
}
