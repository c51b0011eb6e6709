// The stages of `npm test`: slow stages, stages that hang, and processes that must not stay. Programs that a stage
// started keep the output of the process open, so the event `close` means that all of them have ended.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect, test } from "@jest/globals";

import { filesOf, THREADED } from "../../web/build/nativeTests.mjs";

const start = (watchdogMinutes, ...names) => startWith({}, watchdogMinutes, ...names);

function startWith(environment, watchdogMinutes, ...names) {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, ["tests/web/programs/stages.mjs", watchdogMinutes, ...names], { env });
  const printed = { output: "", complaints: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (printed.output += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (printed.complaints += text));
  return { child, printed, closed: once(child, "close").then(() => printed) };
}

const MANY = "60";

test("a stage that takes longer than its budget is told of, and counts as it went", async () => {
  const { output } = await start(MANY, "passes", "takes long").closed;
  expect(output).toMatch(/^=== takes long: WARNING: it took longer than its budget of 0 min$/m);
  expect(output).not.toMatch(/passes: WARNING/);
  expect(output).toMatch(/\n2 passed, 0 failed, 0 skipped\n$/);
});

test("a stage that hangs is ended with everything it started, has failed, and the next ones run", async () => {
  const { output, complaints } = await start(MANY, "hangs", "passes").closed;
  expect(complaints).toBe("hangs: hung, ended after 0.001 min\n");
  expect(output).toMatch(/^=== hangs: 0 passed, 1 failed, 0 skipped/m);
  expect(output).toMatch(/\n1 passed, 1 failed, 0 skipped\n$/);
});

test("the watchdog over all ends what runs, says in which stage, and counts what came before", async () => {
  const { output, complaints } = await start("0.02", "passes", "does not end", "passes").closed;
  expect(complaints).toBe("does not end: ended by the watchdog over all stages after 0.02 min\n");
  expect(output).toMatch(/\n1 passed, 1 failed, 0 skipped\n$/);
});

test("what comes after a stage that it needs is not run when that fails", async () => {
  const { output, complaints } = await start(MANY, "fails", "passes").closed;
  expect(complaints).toBe("fails: no compiler\n");
  expect(output).not.toContain("=== passes");
  expect(output).toMatch(/\n0 passed, 1 failed, 0 skipped\n$/);
});

test("two stages run beside each other", async () => {
  const { output } = await startWith({ SLOTS: "2" }, MANY, "waits for another", "another").closed;
  expect(output).toMatch(/\n2 passed, 0 failed, 0 skipped\n$/);
});

test("a stage that follows another starts when that has ended, also with a free place", async () => {
  const { output } = await startWith({ SLOTS: "3" }, MANY, "follows another", "waits for another", "another").closed;
  expect(output.indexOf("=== another: 1 passed")).toBeLessThan(output.indexOf("=== follows another (budget"));
  expect(output).toMatch(/\n3 passed, 0 failed, 0 skipped\n$/);
});

test("with logs only what a failed stage has printed is shown", async () => {
  const logs = mkdtempSync(path.join(tmpdir(), "headwise-stages-"));
  try {
    const { output } = await startWith({ LOGS: logs }, MANY, "prints and passes", "prints and fails").closed;
    expect(output).not.toContain("all is well");
    expect(output).toContain("something is wrong");
    expect(readFileSync(path.join(logs, "prints and passes.log"), "utf8")).toBe("all is well\n");
  } finally {
    rmSync(logs, { recursive: true });
  }
});

test.each([
  ["SIGINT", "does not end"],
  ["SIGTERM", "does not end"],
  ["SIGKILL", "waits"],
])("after %s nothing is left that runs or burns", async (signal, stage) => {
  const { child, printed, closed } = start(MANY, stage);
  while (!printed.output.includes("it runs")) await once(child.stdout, "data");
  child.kill(signal);
  await closed;
  expect([child.exitCode, child.signalCode]).toEqual(signal === "SIGKILL" ? [null, signal] : [1, null]);
});

test("a filter of C++ tests finds the files that have them, and each of its patterns must find one", () => {
  expect(filesOf("KvCache.StoresTheSameBits*")).toEqual(["test_kv_cache.cpp"]);
  expect(filesOf("ThreadPool.*:*HaveTheSameBitsForEveryNumberOfThreads/*")).toEqual([
    "test_backward.cpp",
    "test_thread_pool.cpp",
  ]);
  expect(filesOf(THREADED)).toContain("test_layer_backward.cpp");
  expect(() => filesOf("ThreadPool.*:Nothing.*")).toThrow("has a test Nothing.*");
});
