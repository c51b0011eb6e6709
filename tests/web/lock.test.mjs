// One build at a time in a folder, and one setup at a time on a machine.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, expect, test } from "@jest/globals";

import { withLock } from "../../cpp/toolchain/lock.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "headwise-lock-"));
afterAll(() => rmSync(folder, { recursive: true }));
const lock = path.join(folder, "lock");
const none = () => undefined;

test("work waits for the work that has the lock, and the lock is gone afterwards", async () => {
  const order = [];
  const started = deferred();
  const release = deferred();
  const first = withLock(lock, none, async () => {
    started.resolve();
    await release.promise;
    order.push("first");
  });
  await started.promise;
  const second = withLock(
    lock,
    () => release.resolve(),
    async () => order.push("second"),
  );
  await Promise.all([first, second]);
  expect(order).toEqual(["first", "second"]);
  expect(existsSync(lock)).toBe(false);
});

test("a lock of a process that has ended is taken over", async () => {
  writeFileSync(lock, "4194304 1"); // beyond the largest number of a process
  expect(await withLock(lock, none, async () => "done")).toBe("done");
});

// Containers number their processes alike: what a killed one left in the folder names a process of the next one.
(existsSync("/proc/self/stat") ? test : test.skip)(
  "a lock whose process has ended is taken over, though another process has its number now",
  async () => {
    writeFileSync(lock, `${process.pid} 1`);
    expect(await withLock(lock, none, async () => "done")).toBe("done");
    writeFileSync(lock, String(process.pid));
    expect(await withLock(lock, none, async () => "done")).toBe("done");
  },
);

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve) => (parts.resolve = resolve));
  return parts;
}
