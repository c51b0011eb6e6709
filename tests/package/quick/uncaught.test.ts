// What a program prints that catches nothing. Node shows the line that threw, whatever its length.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { emptyConsumer, type Consumer } from "../consumer.js";
import { complaintOf } from "../programs.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("node");
});
afterAll(() => consumer.remove());

const ENTRIES = ["headwise", "headwise/worker", "headwise/inline"];

describe.each([...ENTRIES.map((entry) => ["wrong.mjs", entry]), ["wrong.cjs", "headwise/inline"]])(
  "%s, which uses %s",
  (program, entry) => {
    const printed = () => complaintOf(process.execPath, [program, entry], { cwd: consumer.folder });

    test("prints a short line of code, the message and the hint", async () => {
      const text = await printed();
      expect(text.length).toBeLessThan(3000);
      expect(text).toMatch(/ShapeError: scaledDotProductAttention: query\.data\.length must be/);
      expect(text).toMatch(/hint: .*node_modules\/headwise\/web\/docs\/troubleshooting\.md#invalid_shape/);
    });

    test("names the functions of the package that threw", async () => {
      const frames = [
        ...(await printed()).matchAll(/at (\S*[A-Za-z]{4,}\S*) \(\S*node_modules\/headwise\/dist\/\S+:\d+:\d+\)/g),
      ];
      expect(frames.length).toBeGreaterThan(1);
    });
  },
);
