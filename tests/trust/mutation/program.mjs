// Runs a program that may hang, as mutants do.

import { ended, start } from "../../../web/build/run.mjs";

/**
 * Runs a program in a folder, quietly, and ends it with all that it started after this many seconds.
 *
 * @returns {Promise<{ outcome: "passed" | "failed" | "timeout", output: string }>}
 */
export async function outcomeOf(program, args, { cwd, env = {}, seconds }) {
  const stdio = ["ignore", "pipe", "pipe"];
  const child = start(program, args, { cwd, env: { ...process.env, ...env }, stdio, detached: true });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-child.pid, "SIGKILL");
  }, 1000 * seconds);
  const status = await ended(child);
  clearTimeout(timer);
  const outcome = isLate ? "timeout" : status === 0 ? "passed" : "failed";
  return { outcome, output: Buffer.concat(output).toString() };
}

/** The same for a program that must pass. */
export async function mustPass(program, args, options) {
  const { outcome, output } = await outcomeOf(program, args, { seconds: 3600, ...options });
  if (outcome !== "passed") throw new Error(`${program} ${args.join(" ")}: ${outcome}\n${output.slice(-4000)}`);
}
