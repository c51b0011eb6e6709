// JavaScript engines outside browsers, each by the binary of an npm package.

import { existsSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { emptyConsumer, tool, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { closeTo } from "../pages.js";
import { run } from "../programs.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  await consumer.add("node");
});
afterAll(() => consumer.remove());

const outcomeOf = async (program: string, ...args: string[]): Promise<unknown> =>
  JSON.parse(await run(program, args, { cwd: consumer.folder, timeout: 30_000 }));

/** A test where the binary exists for this system; elsewhere npm has left it out. */
const testWith = (binary: string) => (existsSync(binary) ? test : test.skip);

describe.each([
  ["Node 20 or this one", process.execPath],
  ["Node 22", tool("node22/bin/node")],
  ["Node 24", tool("node24/bin/node")],
])("%s, on two threads, ends by itself", (_, node) => {
  testWith(node).each(["imported.mjs", "required.js"])("%s", async (program) => {
    const outcome = await outcomeOf(node, "--no-warnings", program);
    expect(outcome).toMatchObject({ backend: "wasm", threads: 2, rows: closeTo(firstRows) });
  });
});

const deno = tool("@deno/linux-x64-glibc/deno");
testWith(deno)("Deno, on two threads", async () => {
  const outcome = await outcomeOf(deno, "run", "--allow-all", "imported.mjs");
  expect(outcome).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
});

const bun = tool("@oven/bun-linux-x64/bin/bun");
testWith(bun)("Bun, on one thread, and it says why", async () => {
  const outcome = await outcomeOf(bun, "imported.mjs");
  expect(outcome).toMatchObject({ threads: 1, reason: expect.stringContaining("Bun"), rows: closeTo(firstRows) });
});
