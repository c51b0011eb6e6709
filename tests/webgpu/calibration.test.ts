import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type GpuFloats } from "headwise";

import "../web/asBuilt.js";
import { attentionProblem, OPTION_NAMES } from "../../web/src/attention/attentionProblem.js";
import { attentionKind } from "../../web/src/auto/attentionKind.js";
import { cacheKind } from "../../web/src/auto/cacheKind.js";
import { difference } from "../../web/src/auto/compare.js";
import { featuresOf } from "../../web/src/auto/features.js";
import type { Kind } from "../../web/src/auto/kind.js";
import { layerKind } from "../../web/src/auto/layerKind.js";
import { raceProblem } from "../../web/src/auto/race.js";
import type { CacheProblem } from "../../web/src/cache/cacheProblem.js";
import type { Engine } from "../../web/src/engine/engine.js";
import type { GpuEngine } from "../../web/src/engine/gpuModule.js";
import { layerProblem } from "../../web/src/layer/layerProblem.js";
import { CallArguments } from "../../web/src/read/callArguments.js";
import { readOptions } from "../../web/src/read/options.js";
import { here } from "../../web/src/turn/late.js";
import * as makers from "../../web/src/wasm/makers.js";
import * as runners from "../../web/src/wasm/runners.js";
import { WasmEngine } from "../../web/src/wasm/wasmEngine.js";
import { runProgram } from "../web/programs.js";
import { openWasmCore } from "../web/sourceWasm.js";
import { WatchedGpu } from "./faultyGpu.js";
import { describeOnGpu, gpu } from "./gpu.js";

const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
const halves = (...shape: number[]) => ({ data: new Uint16Array(shape.reduce((a, b) => a * b, 1)), shape });
const kindOf = (q: object, k: object, v: object, options: object) => {
  const call = new CallArguments("test");
  return attentionKind(attentionProblem(call, q, k, v, readOptions(call, options, OPTION_NAMES)));
};

const plain = raceProblem({ heads: 8, queries: 512, keys: 512 }, 64, 64);
const PLAIN = featuresOf(plain.settings, plain.wanted);
const everything = {
  causal: true,
  window: { left: 100 },
  mask: { data: new Uint8Array(512 * 512).fill(1), shape: [512, 512] },
  bias: zeros(512, 512),
  softcap: 30,
  alibiSlopes: new Float32Array(8),
  sinks: new Float32Array(8),
  headGain: new Float32Array(8),
  returns: { lse: true, entropy: true, probs: true, topK: 4, scores: "biased" },
};
const cacheOf = (change: Partial<CacheProblem>): CacheProblem => ({
  operation: "test",
  batchSize: 1,
  numKvHeads: 2,
  headDim: 32,
  valueDim: 32,
  dtype: "float32",
  capacity: undefined,
  ring: undefined,
  rotary: undefined,
  ...change,
});
const angles = { rotaryDim: 32, interleaved: false, base: 10000, scaling: undefined };
const layerOf = (options: object) => {
  const weights = { Wq: zeros(32, 32), Wk: zeros(32, 32), Wv: zeros(32, 32), Wo: zeros(32, 32) };
  const problem = layerProblem(new CallArguments("test"), { numHeads: 2, weights, ...options });
  return layerKind(problem, { dtype: "float32", features: { ...PLAIN, causal: "lower-right" } });
};

const KINDS: [what: string, kind: () => Kind][] = [
  ["many rows", () => attentionKind(plain)],
  ["one row, many keys", () => kindOf(zeros(8, 1, 64), zeros(2, 4096, 64), zeros(2, 4096, 64), {})],
  ["many rows, keys in parts", () => kindOf(zeros(1, 64, 40), zeros(1, 4096, 40), zeros(1, 4096, 24), {})],
  ["float16", () => kindOf(halves(8, 128, 64), halves(8, 128, 64), halves(8, 128, 64), { causal: true })],
  [
    "a packed layout",
    () => kindOf(zeros(1, 64, 96), zeros(1, 64, 96), zeros(1, 64, 96), { layout: "BES", numHeads: 8 }),
  ],
  [
    "a ragged batch",
    () =>
      kindOf(zeros(1, 64, 4, 16), zeros(1, 64, 4, 16), zeros(1, 64, 4, 16), {
        layout: "BSHD",
        cuSeqLensQuery: [0, 20, 64],
        cuSeqLensKey: [0, 20, 64],
      }),
  ],
  ["every option and result", () => kindOf(zeros(8, 512, 48), zeros(4, 512, 48), zeros(4, 512, 48), everything)],
  ["a cache", () => cacheKind(cacheOf({}), { numHeads: 4, dtype: "float32", features: PLAIN })],
  [
    "a ring of float16 with rotary embedding",
    () =>
      cacheKind(
        cacheOf({ dtype: "float16", ring: { keepFirst: 4, window: 4096, positions: "text" }, rotary: angles }),
        {
          numHeads: 4,
          dtype: "float32",
          features: { ...PLAIN, causal: "lower-right" },
        },
      ),
  ],
  [
    "a ring with positions of its own",
    () =>
      cacheKind(cacheOf({ ring: { keepFirst: 4, window: 4096, positions: "cache" }, rotary: angles }), {
        numHeads: 4,
        dtype: "float32",
        features: { ...PLAIN, causal: "lower-right" },
      }),
  ],
  ["an int8 cache", () => cacheKind(cacheOf({ dtype: "int8" }), { numHeads: 2, dtype: "float32", features: PLAIN })],
  ["a layer", () => layerOf({})],
  ["a layer with norm and rotary embedding", () => layerOf({ qkNorm: { kind: "rms" }, position: { kind: "rotary" } })],
];

describeOnGpu("The checks of a GPU", () => {
  let wasm: Engine;
  let webgpu: GpuEngine;
  beforeAll(async () => {
    wasm = new WasmEngine(await openWasmCore(), { layers: here(makers), operations: here(runners) });
    const { openWebgpu } = await import("../../web/src/webgpu/webgpuEngine.js");
    webgpu = await openWebgpu("test", { gpu: gpu! });
  });
  afterAll(() => {
    wasm.dispose();
    webgpu.dispose();
  });

  test.each(KINDS)("pass the right kernels of %s, with every tiling", async (_what, kindOfCall) => {
    const kind = kindOfCall();
    const expected = await kind.sample(wasm);
    for (const tiling of webgpu.tilings) {
      webgpu.tiling = tiling;
      expect([kind.name, difference(await kind.sample(webgpu), expected, kind.tolerance)]).toEqual([
        kind.name,
        undefined,
      ]);
    }
  });

  test("time kernels by the GPU's own clock if it has one, and keep the times of the latest call", async () => {
    const before = webgpu.kernelTimes;
    let calls = 0;
    const seconds = await webgpu.kernelSeconds(async () => {
      calls += 1;
      await webgpu.attention(plain);
    });
    const hasClock = webgpu.adapter.features.includes("timestamp-query");
    expect([calls, (seconds ?? 0) > 0]).toEqual(hasClock ? [1, true] : [0, false]);
    expect(webgpu.kernelTimes).toBe(before);
  });

  test("see a number that is wrong by a hundredth", async () => {
    const kind = attentionKind(plain);
    const expected = await kind.sample(wasm);
    const [{ output }] = (await kind.sample(wasm)) as [(typeof expected)[0]];
    (output as { data: Float32Array }).data[77]! += 0.01;
    expect(difference([{ output }], expected, kind.tolerance)).toMatch(/^output\[77\] is .*, wasm gives /);
  });
});

/** A GPU whose adapter calls itself so. */
function disguised(real: GPU, name = ""): GPU {
  return {
    async requestAdapter(options?: GPURequestAdapterOptions) {
      const adapter = (await real.requestAdapter(options))!;
      const { subgroupMinSize, subgroupMaxSize } = adapter.info as GPUAdapterInfo & Record<string, number>;
      const info = {
        vendor: "test",
        architecture: "",
        device: "",
        description: name,
        subgroupMinSize,
        subgroupMaxSize,
      };
      const { features, limits } = adapter;
      return { info, features, limits, requestDevice: (wanted?: GPUDeviceDescriptor) => adapter.requestDevice(wanted) };
    },
  } as unknown as GPU;
}

const call = async (hw: Awaited<ReturnType<typeof createAttention>>) => {
  const x = () => zeros(1, 16, 1024, 64);
  return hw.scaledDotProductAttention(x(), x(), x());
};
const stateOf = (hw: Awaited<ReturnType<typeof createAttention>>) => hw.report.calibration.state;

/** Waits until the calibration is done, however long that takes here. */
async function settled(hw: Awaited<ReturnType<typeof createAttention>>) {
  while (["waiting", "running"].includes(stateOf(hw))) await new Promise((resolve) => setTimeout(resolve, 20));
}

describeOnGpu("backend auto", () => {
  test("stays with wasm on a software adapter, opens no device, and says why", async () => {
    const hw = await createAttention({ threads: 1, gpu: disguised(gpu!, "llvmpipe (LLVM 15)") });
    await call(hw);
    await call(hw);
    await settled(hw);
    expect(hw.gpu!.device).toBeUndefined();
    expect(hw.report.adapter).toBeUndefined();
    expect(hw.report.reasons.webgpu).toMatch(/^the adapter computes on the CPU \(.*\), where wasm is faster$/);
    expect(hw.report.calibration).toMatchObject({ state: "without", calls: { wasm: 2, webgpu: 0 } });
    hw.dispose();
  });

  test("with calibrate: false and with a chosen backend measures nothing", async () => {
    const off = await createAttention({ threads: 1, gpu: gpu!, calibrate: false });
    await call(off);
    await call(off);
    expect(stateOf(off)).toBe("off");
    expect(off.report.reasons.webgpu).toMatch(/^calibrate is false: /);
    const x = (await off.gpu!.upload({ data: Float32Array.of(1), shape: [1, 1] })) as GpuFloats;
    expect((await off.scaledDotProductAttention(x, x, x)).output).toMatchObject({ data: Float32Array.of(1) });
    off.dispose();
    const chosen = await createAttention({ backend: "webgpu", gpu: gpu!, calibrate: true });
    expect(stateOf(chosen)).toBe("off");
    expect(chosen.report.reasons).toEqual({});
    chosen.dispose();
  });

  test("a chosen WebGPU says what it does without", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu!, threads: 3, maximumMemory: 2 ** 26 });
    expect(hw.report.reasons).toEqual({
      threads: "WebGPU computes on the GPU, without threads",
      maximumMemory: "it limits the memory of wasm, not that of a GPU",
    });
    hw.dispose();
  });

  test("checks and races a device that does not name itself, with at most 6 pipelines, and then chooses", async () => {
    const watch = new WatchedGpu();
    const hw = await createAttention({ threads: 1, gpu: disguised(gpu!), calibrate: { keep: false } });
    await call(hw);
    await call(hw);
    await settled(hw);
    watch.restore();
    const { calibration, reasons, adapter } = hw.report;
    expect(calibration).toMatchObject({ state: "ready", source: "fresh" });
    expect(calibration.checks.filter(({ failure }) => failure !== undefined)).toEqual([]);
    expect(calibration.race.length).toBeGreaterThan(0);
    expect(calibration.engines.webgpu?.basis).toBe("measured");
    expect(reasons.webgpu).toBeUndefined();
    expect(adapter?.vendor).toBe("test");
    expect(watch.compiled).toBeLessThanOrEqual(6);
    expect((await call(hw)).output.data).toHaveLength(16 * 1024 * 64);
    hw.dispose();
  });

  test("does not keep a process of Node alive while it measures", async () => {
    expect(await runProgram("calibrating")).toEqual({ state: "running" });
  });
});
