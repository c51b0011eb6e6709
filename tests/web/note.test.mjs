// What a run leaves for the next one, in every state that a killed process or a full disk can leave it in.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";

import { build } from "../../web/build/paths.mjs";
import { whenStale } from "../../web/build/stale.mjs";
import { forgetPassed, passedBefore, rememberPassed } from "../../web/build/stamps.mjs";

/** Names that no step and no stage has. */
const NAME = "example-of-a-note";
const stampOfStep = path.join(build, "stamps", NAME);
const stampOfStage = path.join(build, "stamps", `test-${NAME}.json`);

let inputs;
beforeEach(() => (inputs = mkdtempSync(path.join(tmpdir(), "headwise-note-"))));
afterEach(() => {
  for (const file of [inputs, stampOfStep, stampOfStage]) rmSync(file, { recursive: true, force: true });
});

const counts = { passed: 3, failed: 0, skipped: 1 };

const damaged = [
  ["empty", (file) => writeFileSync(file, "")],
  ["cut off", (file) => writeFileSync(file, readFileSync(file).subarray(0, 20))],
  ["of other bytes", (file) => writeFileSync(file, Buffer.from([0xff, 0, 0xfe]))],
  ["null", (file) => writeFileSync(file, "null")],
  ["a folder", (file) => (rmSync(file), mkdirSync(path.join(file, "inside"), { recursive: true }))],
];

describe("a stage that has passed", () => {
  test("is remembered for the same sources only", () => {
    rememberPassed(NAME, "digest", counts);
    expect(passedBefore(NAME, "digest")).toEqual(counts);
    expect(passedBefore(NAME, "another")).toBeUndefined();
    forgetPassed(NAME);
    expect(passedBefore(NAME, "digest")).toBeUndefined();
  });

  test.each(damaged)("has not passed if its stamp is %s, and is remembered again", (_, damage) => {
    rememberPassed(NAME, "digest", counts);
    damage(stampOfStage);
    expect(passedBefore(NAME, "digest")).toBeUndefined();
    rememberPassed(NAME, "digest", counts);
    expect(passedBefore(NAME, "digest")).toEqual(counts);
    damage(stampOfStage);
    forgetPassed(NAME);
    expect(passedBefore(NAME, "digest")).toBeUndefined();
  });
});

describe("a step of the build", () => {
  beforeEach(() => void jest.spyOn(console, "error").mockReturnValue());
  afterEach(() => void jest.restoreAllMocks());

  const timesRun = async () => {
    let times = 0;
    await whenStale(NAME, { inputs: [path.relative(".", inputs)], outputs: [] }, async () => void times++);
    return times;
  };

  test("runs once for the same inputs", async () => {
    expect([await timesRun(), await timesRun()]).toEqual([1, 0]);
  });

  test.each(damaged)("runs again if its stamp is %s", async (_, damage) => {
    await timesRun();
    damage(stampOfStep);
    expect([await timesRun(), await timesRun()]).toEqual([1, 0]);
  });
});
