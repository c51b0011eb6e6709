// Firefox: the page of consumers/page as plain files. Chromium's package brings the software Vulkan driver for WebGPU.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { closeTo, expectAlone, expectThreaded, useFiles, type Outcome } from "../pages.js";
import { run } from "../programs.js";

const FIREFOX = process.env["HEADWISE_FIREFOX"] ?? "/usr/bin/firefox-esr";
const SOFTWARE_VULKAN = "/usr/lib/chromium/vk_swiftshader_icd.json";
const MINUTES = 60_000;

let consumer: Consumer;
let runtimeFolder: string;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
  await useFiles(consumer.folder);
  runtimeFolder = await mkdtemp(path.join(tmpdir(), "headwise-firefox-"));
});
afterAll(() => Promise.all([consumer.remove(), rm(runtimeFolder, { recursive: true })]));

async function outcomeWith(headers: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await serveFolder(consumer.folder, headers);
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

const describeWithFirefox = existsSync(FIREFOX) ? describe : describe.skip;

describeWithFirefox(`Firefox (skipped unless ${FIREFOX} is installed)`, () => {
  test(
    "has threads and relaxed SIMD where the page is isolated",
    async () => {
      const outcome = await outcomeWith(ISOLATION);
      expectThreaded(outcome);
      expect(outcome.variant).toBe("relaxed");
    },
    MINUTES,
  );

  test("has one thread and a reason where it is not", async () => expectAlone(await outcomeWith({})), MINUTES);

  test(
    "computes on WebGPU where it has a Vulkan driver, and else says that there is no GPU",
    async () => {
      await useFiles(consumer.folder, "mainGpu.js");
      const outcome = await outcomeWith({});
      if (outcome.code && !existsSync(SOFTWARE_VULKAN)) expect(outcome.code).toBe("UNSUPPORTED");
      else expect(outcome).toMatchObject({ backend: "webgpu", rows: closeTo(firstRows) });
    },
    MINUTES,
  );
});
