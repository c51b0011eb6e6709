import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

/**
 * Runs a program of tests/web/programs in its own Node process. The program prints JSON. Rejects if it does not end in
 * time.
 */
export async function runProgram(program: string, ...args: string[]): Promise<unknown> {
  const file = fileURLToPath(new URL(`programs/${program}.mjs`, import.meta.url));
  const options = { timeout: WAIT_MILLISECONDS };
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", file, ...args], options);
  return JSON.parse(stdout);
}
