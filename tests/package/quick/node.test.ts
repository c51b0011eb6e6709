import { readdirSync, symlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";

import { emptyConsumer, type Consumer } from "../consumer.js";
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

const outcomeOf = async (...words: readonly string[]): Promise<unknown> =>
  JSON.parse(await run(process.execPath, ["--no-warnings", ...words], { cwd: consumer.folder }));

test.each(["imported.mjs ./mainCore.js", "imported.mjs ./mainWorker.js", "required.js"])(
  "Node runs %s, on two threads, and ends by itself",
  async (program) => {
    expect(await outcomeOf(...program.split(" "))).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
  },
);

const onOneThread = { threads: 1, rows: closeTo(firstRows) };

test("Node requires headwise/inline, as a module that was CommonJS from the start", async () => {
  expect(await outcomeOf("--no-experimental-require-module", "requiredInline.js")).toMatchObject(onOneThread);
});

test("Node's import finds every named export of the CommonJS files", async () => {
  symlinkSync(path.resolve("node_modules/react"), path.join(consumer.folder, "node_modules/react")); // a peer
  const dist = path.join(consumer.folder, "node_modules/headwise/dist");
  const required = readdirSync(dist).filter((name) => name.endsWith(".cjs"));
  expect(required).toContain("inline.cjs");
  for (const name of required) {
    const files = [name, name.replace(".cjs", ".js")].map((each) => path.join(dist, each));
    const [found, wanted] = (await outcomeOf("exportedNames.mjs", ...files)) as [string[], string[]];
    expect([name, wanted.filter((each) => !found.includes(each))]).toEqual([name, []]);
  }
});

test("a server's bundle in CommonJS computes with headwise/inline, with no package beside it", async () => {
  const [source, outfile] = ["requiredInline.js", "bundled/server.cjs"].map((name) => path.join(consumer.folder, name));
  await build({ entryPoints: [source!], outfile: outfile!, bundle: true, platform: "node", format: "cjs" });
  await rm(path.join(consumer.folder, "node_modules"), { recursive: true });
  expect(await outcomeOf(outfile!)).toMatchObject(onOneThread);
});
