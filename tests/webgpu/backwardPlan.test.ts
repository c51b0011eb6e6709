import { beforeAll, describe, expect, test } from "@jest/globals";

import { kernelKey, shaderSource } from "../../web/src/webgpu/kernels/shader.js";
import type { Limits } from "../../web/src/webgpu/plan/limits.js";
import { backwardKernels, bias, planOf, score, visible, type Given } from "./backwardKernels.js";
import { describeOnNullGpu, nullGpu, openTestDevice } from "./gpu.js";
import { DESKTOP, SMALLEST } from "./planFacts.js";

describe("plans of gradients", () => {
  test.each<[string, Given, Limits]>([
    ["12 heads of 64", {}, DESKTOP],
    ["the same within the smallest limits", {}, SMALLEST],
    ["few rows", { shape: { queryLength: 4 } }, DESKTOP],
    ["wide heads of a group, only of values", { shape: { numKvHeads: 2, headDim: 64, valueDim: 200 }, wanted: ["dValue"] }, DESKTOP],
    ["only of heads", { settings: { sinks: new Float32Array(12) }, wanted: ["dSinks"] }, DESKTOP],
    ["a bias for all heads", { settings: bias(1, 1, 512, 512), wanted: ["dBias"] }, DESKTOP],
    ["a bias by key", { shape: { batchSize: 4 }, settings: bias(4, 1, 1, 512), wanted: ["dBias"] }, DESKTOP],
    ["tables", { settings: { score, visible }, wanted: ["dTables"] }, DESKTOP],
  ])("%s", (_, given, limits) => {
    const plan = planOf(given, limits);
    const { tile, queries, keys, heads, bias, tables } = plan;
    const step = (pass: { workgroups: number; parts?: number; blocks?: number } | undefined) =>
      pass && { workgroups: pass.workgroups, ...(pass.parts && { parts: pass.parts }), ...(pass.blocks && { blocks: pass.blocks }) };
    const passes = { queries: step(queries), keys: step(keys), heads: step(heads), bias: step(bias), tables: step(tables) };
    expect({ rows: tile.rows, workgroupBytes: tile.workgroupBytes, rowBytes: plan.rowBytes, ...passes }).toMatchSnapshot();
  }); // oxfmt-ignore

  test("what a call does not ask for is not computed", () => {
    const { queries, keys, heads, bias, tables } = planOf({ wanted: ["dKey"] });
    expect([queries, keys === undefined, heads, bias, tables]).toEqual([undefined, false, undefined, undefined, undefined]); // oxfmt-ignore
  });

  test("rows without keys are looked for if they are an error", () => {
    expect(planOf({ wanted: ["dKey"], settings: { emptyRows: "throw" } }).queries).toBeDefined();
  });

  test("parts depend on the shape alone", () => {
    const given = { settings: bias(1, 1, 1, 1), wanted: ["dBias"] } as const;
    expect(planOf(given, DESKTOP).bias!.parts).toBeGreaterThan(8);
    expect(planOf(given, { ...DESKTOP, maxBufferSize: 2 ** 28 }).bias!.repeats).toEqual(planOf(given).bias!.repeats);
  });

  test("a call over a limit is refused with the limit's name", () => {
    expect(() => planOf({ shape: { keyLength: 2 ** 20 } }, SMALLEST)).toThrow(/^attentionBackward: key needs a buffer of \d+ bytes, over the device's maxStorageBufferBindingSize/); // oxfmt-ignore
  });
});

describeOnNullGpu("Dawn's validation of the kernels of gradients", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await openTestDevice(nullGpu);
  });

  test.each(backwardKernels().map((kernel) => [kernelKey(kernel), kernel] as const))(
    "accepts %s",
    async (_, kernel) => {
      const module = device.createShaderModule({ code: shaderSource(kernel) });
      expect((await module.getCompilationInfo()).messages.map(({ message }) => message)).toEqual([]);
    },
  );
});
