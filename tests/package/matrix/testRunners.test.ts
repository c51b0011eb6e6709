// Users' own tests: each project of consumers/runners/ as its runner takes it.

import { cp } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, describe, test } from "@jest/globals";

import { WAIT_MILLISECONDS } from "../../hangLimits.mjs";
import { emptyConsumer, type Consumer } from "../consumer.js";
import { run } from "../programs.js";
import { describeWith, newestNode, tool } from "../tools.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("runners");
  await consumer.useTools();
});
afterAll(() => consumer.remove());

/** Runs a runner in a project; it ends by itself, and with an error if a test fails. */
async function passes(project: string, node: string, ...words: readonly string[]): Promise<void> {
  const cwd = path.join(consumer.folder, project);
  await cp(path.join(consumer.folder, "shared"), cwd, { recursive: true });
  await run(node, words, { cwd, timeout: WAIT_MILLISECONDS });
}

describe("the repository's Jest, with ES modules", () => {
  const jest = path.resolve("node_modules/jest/bin/jest.js");
  test("headwise", () => passes("modules", process.execPath, "--experimental-vm-modules", jest));
});

const jest = tool("jest/bin/jest.js");
describeWith([jest], "Jest", () => {
  /** A test that a project's tests pass, if it has what it needs. */
  const projectTest = (name: string, project: string, needed: readonly string[] = []) =>
    describeWith(needed.map(tool), project, () => {
      test(name, () => passes(project, process.execPath, jest));
    });

  projectTest("headwise/inline and headwise/onnx by require, without configuration", "commonjs");
  projectTest("headwise/inline, and headwise mapped to it", "babel", ["@babel/preset-env"]);
  projectTest("headwise/inline and its types", "typescript", ["ts-jest"]);
  projectTest("headwise/inline and headwise/viz", "dom", ["@babel/preset-env", "jest-environment-jsdom"]);
});

const vitest = tool("vitest/vitest.mjs");
describeWith([vitest], "Vitest, without configuration", () => {
  const inEnvironment = (environment: string, file: string) => () =>
    passes("vitest", newestNode, vitest, "run", file, "--environment", environment);

  test("headwise, headwise/worker and headwise/inline", inEnvironment("node", "compute.test.js"));
  for (const environment of ["jsdom", "happy-dom"])
    describeWith([tool(environment)], environment, () => {
      test("headwise/inline and headwise/viz", inEnvironment(environment, "elements.test.js"));
    });
});
