// WebKitGTK, which shares its engine with Safari: pages of plain files, on a virtual display.

import { afterAll, beforeAll, expect, test } from "@jest/globals";

import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { webkit } from "../browsers.mjs";
import { emptyConsumer, type Consumer } from "../consumer.js";
import { firstRows } from "../expected.js";
import { closeTo, expectAlone, useFiles, type Outcome } from "../pages.js";
import { describeWith } from "../tools.js";

let consumer: Consumer;
beforeAll(async () => {
  consumer = await emptyConsumer();
  await consumer.add("page");
});
afterAll(() => consumer.remove());

async function outcomeIn(headers: Readonly<Record<string, string>>): Promise<Outcome> {
  const server = await serveFolder(consumer.folder, headers);
  try {
    return (await webkit.open(server.url)).outcome as Outcome;
  } finally {
    server.stop();
  }
}

describeWith(webkit.needs, "WebKitGTK", () => {
  test.each(["mainCore.js", "mainWorker.js"])("%s has one thread and SIMD, and a reason", async (script) => {
    await useFiles(consumer.folder, script);
    const alone = await outcomeIn({});
    expectAlone(alone);
    expect(alone.variant).toMatch(/^(simd|relaxed)$/);
  });

  test("an isolated page computes, though WebKitGTK has no SharedArrayBuffer", async () => {
    await useFiles(consumer.folder, "mainCore.js");
    const outcome = await outcomeIn(ISOLATION);
    expect(outcome).toMatchObject({ rows: closeTo(firstRows) });
    if (outcome.threads === 1) expect(outcome.reason).toMatch(/SharedArrayBuffer/);
  });

  test("headwise/inline computes on one thread", async () => {
    await useFiles(consumer.folder, "mainInline.js");
    expect(await outcomeIn({})).toMatchObject({ threads: 1, rows: closeTo(firstRows) });
  });

  test("without WebGPU a page hears that there is none", async () => {
    await useFiles(consumer.folder, "mainGpu.js");
    expect(await outcomeIn({})).toMatchObject({ code: "UNSUPPORTED" });
  });
});
