// JavaScript engines outside browsers, each by the binary of an npm package.

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { closeTo } from "../pages.js";
import { run } from "../programs.js";
import { describeWith, runtime } from "../tools.js";

const CORE = "imported.mjs ./mainCore.js";
const WORKER = "imported.mjs ./mainWorker.js";
const REQUIRED = "required.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  await consumer.add("node");
});
afterAll(() => consumer.remove());

/** What an engine prints, given its flags and the words of the program to run. */
const outcomeOf = async (engine: string, ...words: string[]): Promise<unknown> =>
  JSON.parse(await run(engine, words.join(" ").split(" "), { cwd: consumer.folder }));

const NODES = {
  "Node 20 or this one": process.execPath,
  "Node 22": runtime("node22/bin/node"),
  "Node 24": runtime("node24/bin/node"),
};
for (const [name, node] of Object.entries(NODES))
  describeWith([node], `${name}, on two threads, ends by itself`, () => {
    test.each([CORE, WORKER, REQUIRED])("%s", async (program) => {
      const outcome = await outcomeOf(node, "--no-warnings", program);
      expect(outcome).toMatchObject({ backend: "wasm", threads: 2, rows: closeTo(firstRows) });
    });
  });

const deno = runtime("@deno/linux-x64-glibc/deno");
describeWith([deno], "Deno, on two threads", () => {
  test.each([CORE, WORKER])("%s", async (program) => {
    const outcome = await outcomeOf(deno, "run", "--allow-all", program);
    expect(outcome).toMatchObject({ threads: 2, variant: "relaxed", rows: closeTo(firstRows) });
  });
});

const bun = runtime("@oven/bun-linux-x64/bin/bun");
describeWith([bun], "Bun, on one thread, and it says why", () => {
  test.each([CORE, WORKER])("%s", async (program) => {
    const outcome = await outcomeOf(bun, program);
    expect(outcome).toMatchObject({ threads: 1, variant: "relaxed", rows: closeTo(firstRows) });
    expect(outcome).toMatchObject({ reason: expect.stringContaining("Bun") });
  });
});
