// Firefox: pages of plain files, and what a bundler makes. Chromium's package brings the software Vulkan driver for WebGPU.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { bundle } from "../pageProject.js";
import { closeTo, expectAlone, expectThreaded, useFiles, type Outcome } from "../pages.js";
import { run } from "../programs.js";
import { describeWith, tool } from "../tools.js";

const FIREFOX = process.env["HEADWISE_FIREFOX"] ?? "/usr/bin/firefox-esr";
const SOFTWARE_VULKAN = "/usr/lib/chromium/vk_swiftshader_icd.json";

let consumer: Consumer;
let runtimeFolder: string;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  runtimeFolder = await mkdtemp(path.join(tmpdir(), "headwise-firefox-"));
});
afterAll(() => Promise.all([consumer.remove(), rm(runtimeFolder, { recursive: true })]));

async function outcomeIn(folder: string, headers: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await serveFolder(folder, headers);
  const env = {
    XDG_RUNTIME_DIR: runtimeFolder,
    ...(existsSync(SOFTWARE_VULKAN) && { VK_ICD_FILENAMES: SOFTWARE_VULKAN }),
  };
  try {
    const opener = path.resolve("tests/package/firefox.mjs");
    return JSON.parse(await run(process.execPath, [opener, FIREFOX, server.url], { env })) as Outcome;
  } finally {
    server.stop();
  }
}

describeWith([FIREFOX, tool("puppeteer-core")], "Firefox", () => {
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
