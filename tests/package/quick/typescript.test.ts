import path from "node:path";

import { afterAll, beforeAll, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { run } from "../programs.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("typescript");
});
afterAll(() => consumer.remove());

// The compiler itself says what it does not accept, and a `@ts-expect-error` that it accepts.
test.each(["bundler", "nodenext"])(
  "strict TypeScript accepts every entry with moduleResolution %s",
  async (resolution) => {
    const compiler = path.resolve("node_modules/typescript/bin/tsc");
    await run(process.execPath, [compiler, "--project", `tsconfig.${resolution}.json`], { cwd: consumer.folder });
  },
);
