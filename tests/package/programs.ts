import { execFile } from "node:child_process";
import { promisify } from "node:util";

const MOST_OUTPUT = 16 * 2 ** 20;

/** Runs a program to its end and gives what it printed; what it complained of is in the error if it fails. */
export async function run(program: string, args: readonly string[], options: { cwd?: string; timeout?: number } = {}) {
  const { stdout } = await promisify(execFile)(program, args, {
    encoding: "utf8",
    maxBuffer: MOST_OUTPUT,
    timeout: 120_000,
    ...options,
    env: consumerEnvironment(),
  });
  return stdout;
}

/** Without the flags that this test runner was started with. */
function consumerEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: undefined };
}
