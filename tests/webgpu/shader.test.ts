import { beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";

import { paramFields, FEATURE } from "../../web/src/webgpu/plan/params.js";
import { pipelineOf } from "../../web/src/webgpu/device/pipelines.js";
import { planAttention } from "../../web/src/webgpu/plan/plan.js";
import { type AttentionFacts } from "../../web/src/webgpu/plan/facts.js";
import { planProjection } from "../../web/src/webgpu/layer/projection.js";
import { MEAN_ROWS } from "../../web/src/webgpu/attention/meanRows.js";
import { meanOfWeights, weighValues } from "../../web/src/webgpu/attention/patchedWeights.js";
import { headShares } from "../../web/src/webgpu/layer/views.js";
import { planColumnSums, planWeightGradient } from "../../web/src/webgpu/layer/weightGradient.js";
import { flatKernel } from "../../web/src/webgpu/plan/flatKernels.js";
import { type Limits } from "../../web/src/webgpu/plan/limits.js";
import { type FloatDtype } from "../../web/src/webgpu/kernels/kernel.js";
import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import { type Kernel } from "../../web/src/webgpu/kernels/kernel.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { DESKTOP, facts, INSPECTED } from "./planFacts.js";

/**
 * Every kernel that plans choose: small and large tiles, all column counts, both stored dtypes, with and without
 * options.
 */
function everyKernel(): Kernel[] {
  const kernels: Kernel[] = [
    flatKernel("pack", { HALF: false }),
    flatKernel("pack", { HALF: true }),
    flatKernel("narrow"),
    flatKernel("merge"),
    flatKernel("rotary"),
    flatKernel("turn_heads"),
    flatKernel("tokens", { HALF: false }),
    flatKernel("tokens", { HALF: true }),
    flatKernel("pack_weight"),
    ...storingKernels(),
    ...projectingKernels(),
  ];
  for (const maxComputeWorkgroupStorageSize of [16384, 32768])
    for (const queryLength of [1, 100])
      for (const valueDim of [32, 64, 96, 128])
        for (const dtype of ["float32", "float16"] as const)
          for (const mask of [false, true]) {
            const limits = { ...DESKTOP, maxComputeWorkgroupStorageSize };
            kernels.push(...kernelsOf(factsOf(queryLength, valueDim, dtype, mask), limits));
          }
  for (const numHeads of [3, 8])
    kernels.push(...kernelsOf(factsOf(1, 64, "float32", true, numHeads), SMALL), ...kernelsOfCaches(numHeads));
  return [...new Map(kernels.map((kernel) => [kernelKey(kernel), kernel])).values()];
}

/** The kernels of the gradients of linear and of layers. */
const LAYER_GRADIENTS: readonly Kernel[] = [
  planWeightGradient(100, 16, 16).kernel,
  planColumnSums(100, 16).kernel,
  flatKernel("store_gradient"),
  flatKernel("heads_back"),
  flatKernel("gather_rows"),
];

/** The kernels of views and patches of layers. */
const INSIDE: readonly Kernel[] = [
  ...(["float32", "float16", "int8"] as const).map((dtype) =>
    flatKernel("move_rows", { HALF: dtype === "float16", INT8: dtype === "int8" }),
  ),
  MEAN_ROWS,
  headShares("float32"),
  headShares("float16"),
  ...([["float32", 1], ["float16", 2], ["int8", 4]] as const).flatMap(([stored, perLoad]) =>
    [meanOfWeights, weighValues].map((kernel) => kernel({ query: "float32", stored, perLoad })),
  ), // prettier-ignore
];

/** The kernels that read a cache's rows, with a float32 query. */
function kernelsOfCaches(numHeads: number): Kernel[] {
  return (["float16", "int8"] as const).flatMap((dtype) => {
    const facts = factsOf(1, 64, "float32", true, numHeads);
    const dtypes = { query: "float32", key: dtype, value: dtype } as const;
    return kernelsOf({ ...facts, dtypes, inPlace: ["key", "value"], ring: true }, SMALL);
  });
}

function kernelsOf(facts: AttentionFacts, limits: Limits): Kernel[] {
  const { attend, inspect } = planAttention(facts, limits);
  const looks = inspect.flatMap(({ kernel, topK }) => [kernel, ...(topK ? [topK.kernel] : [])]);
  return [attend!.attend.kernel, attend!.merge!.kernel, ...looks];
}

/** The kernels for devices with subgroups and float16. */
function kernelsForFeatures(): Kernel[] {
  const facts = (queryLength: number, dtype: FloatDtype) => factsOf(queryLength, 64, dtype, true);
  const kernels = ([4, 8] as const).flatMap((together) =>
    [1, 100].flatMap((queryLength) =>
      (["float32", "float16"] as const).flatMap((dtype) =>
        kernelsOf(facts(queryLength, dtype), { ...SMALL, together, halves: true }),
      ),
    ),
  );
  return [...new Map([flatKernel("lanes"), ...kernels].map((kernel) => [kernelKey(kernel), kernel])).values()];
}

function storingKernels(): Kernel[] {
  return [false, true].flatMap((HALF) => [
    flatKernel("key_means", { HALF }),
    ...(["float32", "float16", "int8"] as const).map((dtype) =>
      flatKernel("store_rows", { HALF, TO_HALF: dtype === "float16", TO_INT8: dtype === "int8" }),
    ),
  ]);
}

/** The kernels of projections: of one row, few rows, few rows of great depth, and many rows. */
function projectingKernels(): Kernel[] {
  const tiles = [
    { tile4: 16, finishes: false },
    { tile4: 16, finishes: true },
    { tile4: 32, finishes: true }, // tiles are wide only for the norm of wide heads
  ] as const;
  return tiles.flatMap(({ tile4, finishes }) =>
    (["float32", "float16"] as const).flatMap((dtype) =>
      [1, 8, 100].flatMap((rows) => {
        const plan = planProjection({ rows, columns: 64 }, { in4: 1024, tile4, dtype }, finishes);
        return [plan.product.kernel, ...(plan.sum ? [plan.sum.kernel] : [])];
      }),
    ),
  );
}

/** The largest tile needs more workgroup memory than the null device has. */
const SMALL: Limits = { ...DESKTOP, maxComputeWorkgroupStorageSize: 16384 };

function factsOf(
  queryLength: number,
  valueDim: number,
  dtype: FloatDtype,
  mask: boolean,
  numHeads = 1,
): AttentionFacts {
  const dtypes = { query: dtype, key: dtype, value: dtype };
  const rest = { dtypes, output: dtype, mask, wanted: INSPECTED };
  return facts({ numHeads, numKvHeads: 1, queryLength, valueDim }, rest);
}

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

  const compiled = [...kernels, ...LAYER_GRADIENTS, ...INSIDE];
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
