// Times of whole processes of Node.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { nodeProgram } from "../engines.mjs";

const programOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const EXIT = programOf("../../web/programs/exit.mjs");
const KILLED = programOf("../../web/programs/killedWorker.mjs");
const REJECTIONS = programOf("rejections.mjs");

const ofProcess = (name, goal, sample) => ({ name, goal, open: ({ run }) => ({ sample: () => sample(run) }) });

const exits = ["headwise", "headwise/worker", "headwise/inline"].flatMap((entry) =>
  ["dispose", "no dispose"].map((ending) =>
    ofProcess(`exit: ${entry}, ${ending}`, 200, async (run) => {
      const { done } = await run(EXIT, entry, ending);
      return Date.now() - done;
    }),
  ),
);

const rejection = (name, goal, kind) =>
  ofProcess(`rejects: ${name}`, goal, async (run) => (await run(REJECTIONS, kind)).milliseconds);

export const PROCESS_CASES = [
  ...exits,
  rejection("abort of a call", 20, "abort"),
  rejection("dispose", 100, "dispose"),
  rejection("no wasm file", 200, "missing"),
  ofProcess("rejects: killed worker", 100, async (run) =>
    Math.max(...(await run(KILLED)).endings.map(({ milliseconds }) => milliseconds)),
  ),
];

/** This Node or another version. `run` returns what a program prints. */
export async function openProcesses(major) {
  const { program, flags } = await nodeProgram(major);
  const run = async (file, ...args) => {
    const { stdout } = await promisify(execFile)(program, ["--expose-gc", ...flags, file, ...args]);
    return JSON.parse(stdout);
  };
  return { run, close() {} };
}
