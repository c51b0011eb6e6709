// Cloudflare's runtime: it compiles no bytes, so the module is imported, compiled before the worker starts.

import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { build } from "esbuild";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { closeTo } from "../pages.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

const workerd = tool("@cloudflare/workerd-linux-64/bin/workerd");

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  await consumer.add("workerd");
});
afterAll(() => consumer.remove());

describeWith([workerd, path.resolve("dist/wasm/headwise.inline.wasm")], "workerd", () => {
  test("headwise/inline computes with the module that was imported", async () => {
    const { folder } = consumer;
    const [source, outfile] = [path.join(folder, "worker.js"), path.join(folder, "site/worker.js")];
    await build({ entryPoints: [source], outfile, bundle: true, format: "esm", external: ["*.wasm"] });
    const printed = await run(workerd, ["test", "config.capnp"], { cwd: folder });
    expect(JSON.parse(printed)).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  });
});
