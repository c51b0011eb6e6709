import { beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";

import { pipelineOf } from "../../web/src/webgpu/device/pipelines.js";
import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import { flatKernel } from "../../web/src/webgpu/plan/flatKernels.js";
import { FEATURE, paramFields } from "../../web/src/webgpu/plan/params.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { BFLOAT16, everyKernel, INSIDE, kernelsForFeatures, LAYER_GRADIENTS } from "./kernelLists.js";

describe("shader sources", () => {
  test("the shader's Params are those that TypeScript packs, in order and type", () => {
    const text = readFileSync(new URL("../../web/src/webgpu/kernels/call.wgsl", import.meta.url), "utf8");
    const struct = /struct Params \{(.*?)\n\}/s.exec(text)![1]!;
    const fields = [...struct.matchAll(/^ {2}(\w+): (\w+),/gm)].map(([, name, type]) => [name, type]);
    expect(fields).toEqual(paramFields());
  });

  test("features have the same bits on both sides", () => {
    const text = readFileSync(new URL("../../web/src/webgpu/kernels/call.wgsl", import.meta.url), "utf8");
    for (const [name, bit] of Object.entries(FEATURE)) {
      const constant = name.replace(/[A-Z]/g, "_$&").toUpperCase();
      expect(text).toContain(`const ${constant} = ${bit}u;`);
    }
  });

  test("constants are declared once, before the text that uses them", () => {
    const source = shaderSource(flatKernel("pack", { HALF: true }));
    expect(source.slice(0, source.indexOf("//"))).toBe("const THREADS = 64u;\nconst HALF = true;\n\n");
  });
});

describeOnNullGpu("Dawn's validation", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await openTestDevice(nullGpu);
  });

  const kernels = everyKernel();

  test("plans choose among no more kernels than a page may compile", () => {
    expect(kernels.length).toBeLessThanOrEqual(100);
  });

  const compiled = [...kernels, ...LAYER_GRADIENTS, ...INSIDE, ...BFLOAT16];
  test.each(compiled.map((kernel) => [kernelKey(kernel), kernel] as const))("accepts %s", async (_, kernel) => {
    const module = device.createShaderModule({ code: shaderSource(kernel) });
    expect((await module.getCompilationInfo()).messages.map(({ message }) => message)).toEqual([]);
    // The null device has the smallest limits; the largest tiles exceed them.
    if (kernel.constants["Q_TILE"] !== 64 && kernel.name !== "attend_whole")
      await expect(pipelineOf("test", device, kernel)).resolves.toBeDefined();
  });

  const featured = kernelsForFeatures();
  test.each(featured.map((kernel) => [kernelKey(kernel), kernel] as const))("accepts %s", async (_, kernel) => {
    const adapter = (await nullGpu!.requestAdapter())!;
    const needed = ["shader-f16", "subgroups"] as GPUFeatureName[];
    expect(needed.filter((name) => !adapter.features.has(name))).toEqual([]);
    const withFeatures = await adapter.requestDevice({ requiredFeatures: needed });
    await expect(pipelineOf("test", withFeatures, kernel)).resolves.toBeDefined();
    withFeatures.destroy();
  });
});
