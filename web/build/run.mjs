// Starts programs. All their output goes to stderr, because stdout belongs to the command that the user has typed.

import { spawn } from "node:child_process";

import { root } from "./paths.mjs";

export const say = (line) => console.error(line);

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
export function endGroups() {
  for (const leader of leaders)
    try {
      process.kill(-leader, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error; // it has already ended
    }
}

/** Starts a program in the repository's root. */
export function start(program, args, options) {
  const child = spawn(program, args, { cwd: root, detached: areGrouped, ...options });
  if (!areGrouped || !child.pid) return child;
  leaders.add(child.pid);
  return child.on("close", () => leaders.delete(child.pid));
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
  process.stderr.write(Buffer.concat(output));
  throw new Error(`${program} ${args.join(" ")}: ended with ${code}`);
}

/** @returns {Promise<number | string>} the exit status, or the signal that ended it */
export function ended(child) {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
}
