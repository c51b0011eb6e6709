import { beforeAll, describe, expect, test } from "@jest/globals";

import { pipelineOf } from "../../web/src/webgpu/device/pipelines.js";
import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import { flatKernel } from "../../web/src/webgpu/plan/flatKernels.js";
import { FEATURE, packParams, PARAM_NAMES, type Params } from "../../web/src/webgpu/kernels/params.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { BFLOAT16, everyKernel, INSIDE, kernelsForFeatures, LAYER_GRADIENTS, OF_STEPS } from "./kernelLists.js";

describe("shader sources", () => {
  test("the kernels read the numbers of a call in the order and with the types in which they are packed", () => {
    const source = shaderSource({ name: "top_k", constants: {} });
    const struct = /struct Params \{(.*?)\n\}/s.exec(source)![1]!;
    const fields = [...struct.matchAll(/^ {2}(\w+): (\w+),/gm)].map(([, name, type]) => ({ name: name!, type: type! }));
    expect(fields.map(({ name }) => name)).toEqual(PARAM_NAMES);
    const numbers = Object.fromEntries(PARAM_NAMES.map((name, n) => [name, n + 1])) as Params;
    const packed = new DataView(packParams(numbers));
    const read = { u32: "getUint32", i32: "getInt32", f32: "getFloat32" } as const;
    const unpacked = fields.map(({ type }, n) => packed[read[type as keyof typeof read]](4 * n, true));
    expect(unpacked).toEqual(PARAM_NAMES.map((_, n) => n + 1));
  });

  test("every feature is a constant of the kernels with a bit of its own", () => {
    const source = shaderSource({ name: "top_k", constants: {} });
    const bits = Object.values(FEATURE);
    expect(bits.reduce((sum, bit) => sum | bit, 0)).toBe(2 ** bits.length - 1);
    expect(source).toContain(`const HALF_BIAS = ${FEATURE.halfBias}u;`);
    expect(source).toContain(`const RAGGED = ${FEATURE.ragged}u;`);
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

  const compiled = [...kernels, ...LAYER_GRADIENTS, ...INSIDE, ...BFLOAT16, ...OF_STEPS];
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
