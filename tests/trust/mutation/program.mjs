// Runs a program that may hang, as mutants do.

import { ended, start } from "../../../web/build/run.mjs";

/** A program that has written this many bytes does not stop to fail. */
const MOST_OUTPUT = 2 ** 26;

/**
 * Runs a program in a folder, quietly. Ends it with all that it started after this many seconds, or if it writes without end;
 * then it has failed.
 *
 * @returns {Promise<{ outcome: "passed" | "failed" | "timeout", output: string }>}
 */
export async function outcomeOf(program, args, { cwd, env = {}, seconds }) {
  const stdio = ["ignore", "pipe", "pipe"];
  const child = start(program, args, { cwd, env: { ...process.env, ...env }, stdio, detached: true });
  const end = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGKILL");
  };
  const output = [];
  let written = 0;
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      if (written > MOST_OUTPUT) return;
      output.push(chunk);
      written += chunk.length;
      if (written > MOST_OUTPUT) end();
    });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    end();
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
