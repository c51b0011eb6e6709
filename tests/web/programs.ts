import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

/**
 * Runs a program of tests/web/programs in its own Node process. The program prints JSON. Rejects if it does not end in
 * time.
 */
export function runProgram(program: string, ...args: string[]): Promise<unknown> {
  return runWith(["--expose-gc"], program, ...args);
}

/** The same with other flags of Node. */
export async function runWith(flags: readonly string[], program: string, ...args: string[]): Promise<unknown> {
  const file = fileURLToPath(new URL(`programs/${program}.mjs`, import.meta.url));
  const options = { timeout: WAIT_MILLISECONDS };
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, file, ...args], options);
  return JSON.parse(stdout);
}
