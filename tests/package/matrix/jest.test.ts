import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { run } from "../programs.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  await consumer.add("jest");
});
afterAll(() => consumer.remove());

test("a project's own Jest 30 runs its test and exits by itself", async () => {
  const jest = path.resolve("node_modules/jest/bin/jest.js");
  await run(process.execPath, ["--experimental-vm-modules", jest], { cwd: consumer.folder });
});
