import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The path of the built command. */
export const COMMAND = fileURLToPath(new URL("../../dist-demo/cli.js", import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command of the demo until it ends. */
export async function runDemo(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Finished> {
  const { child, output } = start(args, environment);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

/**
 * Runs the command of the demo until it serves its page. `stop` ends it. Without arguments the server that all files of a
 * run share is enough, if there is one (tests/browser/sharedLab.mjs).
 */
export async function serveDemo(args: readonly string[]): Promise<{ url: string; stop(): Promise<void> }> {
  const shared = process.env["HEADWISE_SHARED_LAB"];
  if (shared !== undefined && args.length === 0) return { url: shared, stop: async () => {} };
  const { child, output } = start(["--port", "0", "--text", "Hi.", ...args], {});
  const closed = once(child, "close");
  const url = await new Promise<string>((resolve, reject) => {
    const look = () => {
      const found = /http:\/\/localhost:\d+\//.exec(output.stdout + output.stderr);
      if (found) resolve(found[0]);
    };
    child.stdout!.on("data", look);
    child.stderr!.on("data", look);
    child.once("close", () => reject(new Error(`the demo ended before it served: ${output.stderr}`)));
  });
  return {
    url,
    async stop() {
      child.kill();
      await closed;
    },
  };
}

function start(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const child: ChildProcess = spawn(process.execPath, [COMMAND, ...args], {
    env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout!.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return { child, output };
}
