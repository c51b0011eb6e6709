import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Runs a program of tests/web/programs in a Node of its own; what it prints is JSON. Rejects if it does not end. */
export async function runProgram(program: string, ...args: string[]): Promise<unknown> {
  const file = fileURLToPath(new URL(`programs/${program}.mjs`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", file, ...args], { timeout: 60_000 });
  return JSON.parse(stdout);
}
