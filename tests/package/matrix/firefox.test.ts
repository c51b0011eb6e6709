// Firefox: pages of plain files, what a bundler makes, and every kernel, on a software driver of Vulkan.

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";

import { bindingsOf, kernelKey, shaderSource } from "../../../web/src/webgpu/kernels/shader.js";
import { ISOLATION, serveFolder } from "../../browser/staticServer.js";
import { backwardKernels } from "../../webgpu/backwardKernels.js";
import { BFLOAT16, everyKernel, INSIDE, kernelsForFeatures, LAYER_GRADIENTS } from "../../webgpu/kernelLists.js";
import { firefox, LAVAPIPE, SOFTWARE_VULKAN } from "../browsers.mjs";
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

/** What consumers/shaders/main.js leaves in `outcome`. */
interface Compiled {
  readonly compiled: number;
  readonly failures: readonly { readonly name: string; readonly failure: string }[];
  /** Features that some kernels need and the device lacks. */
  readonly missing: readonly string[];
}

const BUFFERS = { uniform: "uniform", read: "read-only-storage", write: "storage" } as const;
const FEATURES = { f16: "shader-f16", subgroups: "subgroups" };

/** Every kernel that plans choose, as the page of consumers/shaders wants it. */
function everyShader() {
  const lists = [LAYER_GRADIENTS, INSIDE, BFLOAT16, backwardKernels(), kernelsForFeatures()];
  const kernels = [...everyKernel(), ...lists.flat()];
  const byKey = new Map(kernels.map((kernel) => [kernelKey(kernel), kernel]));
  return [...byKey].map(([name, kernel]) => {
    const code = shaderSource(kernel);
    const features = Object.entries(FEATURES).filter(([extension]) => code.includes(`enable ${extension};`));
    const bindings = bindingsOf(kernel.name).map(({ binding, access }) => [String(binding), BUFFERS[access]]);
    return {
      name,
      code,
      features: features.map(([, feature]) => feature),
      bindings: Object.fromEntries(bindings) as object,
    };
  });
}

async function outcomeIn<T = Outcome>(folder: string, headers: Readonly<Record<string, string>>): Promise<T> {
  const server = await serveFolder(folder, headers);
  try {
    return (await firefox.open(server.url)).outcome as T;
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
    if (outcome.code && !SOFTWARE_VULKAN) expect(outcome.code).toBe("UNSUPPORTED");
    else expect(outcome).toMatchObject({ backend: "webgpu", rows: closeTo(firstRows) });
  });
});

describeWith([...firefox.needs, LAVAPIPE], "Firefox with Mesa's lavapipe", () => {
  test("compiles every kernel that its device has the features for", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "headwise-shaders-"));
    const shaders = everyShader();
    await cp(path.resolve("tests/package/consumers/shaders"), folder, { recursive: true });
    await writeFile(path.join(folder, "shaders.json"), JSON.stringify(shaders));
    const outcome = await outcomeIn<Compiled>(folder, {});
    await rm(folder, { recursive: true });
    const possible = shaders.filter(({ features }) => !features.some((name) => outcome.missing.includes(name)));
    expect(outcome).toMatchObject({ failures: [], compiled: possible.length });
    expect(possible.length).toBeGreaterThan(100);
  });
});
