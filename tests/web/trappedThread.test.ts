// A thread of the pool traps during a call: inside WebAssembly, because its module was changed.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { faultyLoader } from "./faultyLoader.mjs";
import { runProgram } from "./programs.js";

let folder: string;
let loader: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headwise-trap-"));
  loader = path.join(folder, "faulty.mjs");
  writeFileSync(loader, faultyLoader("node.js"));
});
afterAll(() => rmSync(folder, { recursive: true }));

// The next call of headwise/worker starts another worker, which has the same fault.
test.each(["headwise", "headwise/worker"])(
  "%s: the call rejects, so does the next; other instances and the process are well",
  async (entry) => {
    const message = expect.stringMatching(/^scaledDotProductAttention: the engine stopped in /);
    const rejected = { name: "HeadwiseError", code: "INTERNAL", message };
    const endings = await runProgram("trappedThread", entry, pathToFileURL(loader).href);
    expect(endings).toEqual([rejected, rejected, true]);
  },
);
