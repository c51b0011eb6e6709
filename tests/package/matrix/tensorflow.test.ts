// The listing of web/docs/gradients.md that uses headwise inside of TensorFlow.js.

import { writeFile } from "node:fs/promises";
import path from "node:path";

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { listings } from "../listings.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

describeWith([tool("@tensorflow/tfjs/package.json")], "TensorFlow.js", () => {
  let consumer: Consumer;
  beforeAll(async () => {
    consumer = await emptyConsumer();
    await consumer.useTools();
  });
  afterAll(() => consumer.remove());

  test("takes headwise as an operation with a gradient, which is the gradient of the written formula", async () => {
    await writeFile(path.join(consumer.folder, "tensorflow.mjs"), listings.get("tensorflow.mjs")!);
    const output = await run(process.execPath, ["tensorflow.mjs"], { cwd: consumer.folder });
    expect(output).toContain("largest difference: true");
  });
});
