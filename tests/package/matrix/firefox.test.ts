// Firefox: pages of plain files, and what a bundler makes. Chromium's package brings the software Vulkan driver for WebGPU.

import { existsSync } from "node:fs";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { firefox, SOFTWARE_VULKAN } from "../browsers.mjs";
import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { bundle } from "../pageProject.js";
import { closeTo, expectAlone, expectThreaded, useFiles, type Outcome } from "../pages.js";
import { describeWith } from "../tools.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
});
afterAll(() => consumer.remove());

async function outcomeIn(folder: string, headers: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await serveFolder(folder, headers);
  try {
    return (await firefox.open(server.url)).outcome as Outcome;
  } finally {
    server.stop();
  }
}

describeWith(firefox.needs, "Firefox", () => {
  describe.each(["mainCore.js", "mainWorker.js"])("%s", (script) => {
    beforeEach(() => useFiles(consumer.folder, script));

    /** In an isolated page and in another. */
    async function expectBothWays(folder: string): Promise<void> {
      const [threaded, alone] = [await outcomeIn(folder, ISOLATION), await outcomeIn(folder, {})];
      expectThreaded(threaded);
      expectAlone(alone);
      expect([threaded.variant, alone.variant]).toEqual(["relaxed", "relaxed"]);
    }

    test("in plain files has relaxed SIMD, and threads where the page is isolated, else a reason", () =>
      expectBothWays(consumer.folder));

    test("built by Vite has the same", async () => expectBothWays(await bundle("vite", consumer, script)));
  });

  test("headwise/inline computes on one thread", async () => {
    await useFiles(consumer.folder, "mainInline.js");
    expect(await outcomeIn(consumer.folder, {})).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  });

  test("computes on WebGPU where it has a Vulkan driver, and else says that there is no GPU", async () => {
    await useFiles(consumer.folder, "mainGpu.js");
    const outcome = await outcomeIn(consumer.folder, {});
    if (outcome.code && !existsSync(SOFTWARE_VULKAN)) expect(outcome.code).toBe("UNSUPPORTED");
    else expect(outcome).toMatchObject({ backend: "webgpu", rows: closeTo(firstRows) });
  });
});
