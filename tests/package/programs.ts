import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const MOST_OUTPUT = 16 * 2 ** 20;

interface Options {
  readonly cwd?: string;
  readonly timeout?: number;
  /** In addition to this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Failure extends Error {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and gives what it printed; if it fails, the error says what it printed and complained of. */
export async function run(program: string, args: readonly string[], { env, ...options }: Options = {}) {
  const fixed = { encoding: "utf8", maxBuffer: MOST_OUTPUT, timeout: WAIT_MILLISECONDS } as const;
  try {
    return (await promisify(execFile)(program, args, { ...fixed, ...options, env: { ...plain(), ...env } })).stdout;
  } catch (error) {
    const { message, stdout } = error as Failure;
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
}

/** Runs a program that is to fail, and gives what it complained of. */
export async function complaintOf(program: string, args: readonly string[], options: Options = {}): Promise<string> {
  const error: unknown = await run(program, args, options).then(
    () => new Error(`${program} ${args.join(" ")} did not fail`),
    ({ cause }: Error) => cause,
  );
  if (!(error as Partial<Failure>).stderr) throw error;
  return (error as Failure).stderr;
}

/** The environment without the flags that this test runner was started with. */
const plain = (): NodeJS.ProcessEnv => ({
  ...process.env,
  NODE_OPTIONS: undefined,
  NEXT_TELEMETRY_DISABLED: "1",
});
