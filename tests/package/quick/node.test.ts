import { afterAll, beforeAll, expect, test } from "@jest/globals";

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

test.each(["imported.mjs ./mainCore.js", "imported.mjs ./mainWorker.js", "required.js"])(
  "Node runs %s, on two threads, and ends by itself",
  async (program) => {
    const printed = await run(process.execPath, ["--no-warnings", ...program.split(" ")], { cwd: consumer.folder });
    expect(JSON.parse(printed)).toMatchObject({ threads: 2, rows: closeTo(firstRows) });
  },
);
