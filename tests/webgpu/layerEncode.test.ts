import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  createAttention,
  OptionError,
  tensor,
  UnsupportedError,
  type Attention,
  type GpuResult,
  type KvCache,
  type Layer,
} from "headwise";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { CountedGpu } from "./countedGpu.js";
import { thrown } from "../web/thrownBy.js";
import { describeOnGpu, describeOnNullGpu, nullGpu, onSharedDevice } from "./gpu.js";
import { weight } from "./layerWeights.js";

const LAYERS = 4;

const options = (n: number) => ({
  inputDim: 24,
  numHeads: 3,
  numKvHeads: 1,
  position: { kind: "rotary" as const },
  weights: {
    Wq: weight(4 * n, 24, 24),
    Wk: weight(4 * n + 1, 24, 8),
    Wv: weight(4 * n + 2, 24, 8),
    Wo: weight(4 * n + 3, 24, 24),
  },
});
const x = randomTensor(6, [1, 5, 24]);
const token = (step: number) => randomTensor(100 + step, [1, 1, 24]);

/** The layers of a small model, each with its cache. */
interface Model {
  readonly layers: readonly Layer[];
  readonly caches: readonly KvCache[];
}

async function modelOn(hw: Attention): Promise<Model> {
  const layers = await Promise.all(Array.from({ length: LAYERS }, (_, n) => hw.multiHeadAttention(options(n))));
  return { layers, caches: await Promise.all(layers.map((layer) => layer.kvCache())) };
}

/** One step, call by call, with results in JavaScript. */
async function stepOf({ layers, caches }: Model, tokens: typeof x): Promise<typeof x> {
  let rows = tokens;
  for (const [n, layer] of layers.entries())
    rows = (await layer.forward(rows, { cache: caches[n]!, causal: true })).output;
  return rows;
}

/** Records one step. Returns what must be disposed after the submit; the last one is the step's output. */
async function recordStep({ layers, caches }: Model, encoder: object, tokens: typeof x) {
  const recorded = [];
  let rows: typeof x | GpuResult<"float32"> = tokens;
  for (const [n, layer] of layers.entries()) {
    const result = await layer.forward(rows, { encoder, cache: caches[n]!, causal: true });
    recorded.push(result);
    rows = result.output as GpuResult<"float32">;
  }
  return recorded;
}

describeOnGpu("layer.forward with encoder", () => {
  let device: GPUDevice;
  let hw: Attention;
  onSharedDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  const submitted = (encoder: GPUCommandEncoder) => device.queue.submit([encoder.finish()]);

  test("records steps of several layers, which give what forward gives", async () => {
    const [expected, recorded] = [await modelOn(hw), await modelOn(hw)];
    const wanted = [await stepOf(expected, x)];
    for (let step = 0; step < 3; ++step) wanted.push(await stepOf(expected, token(step)));

    const encoder = device.createCommandEncoder();
    const steps = [await recordStep(recorded, encoder, x)];
    for (let step = 0; step < 3; ++step) steps.push(await recordStep(recorded, encoder, token(step)));
    expect(recorded.caches.map(({ length }) => length)).toEqual([8, 8, 8, 8]);
    submitted(encoder);
    for (const [step, results] of steps.entries()) {
      const { output } = results.at(-1)!;
      expect(await output.data()).toEqual(float32Of(wanted[step]!));
      for (const result of results) result.dispose();
    }
    // the caches go on with calls
    expect((await stepOf(recorded, token(9))).data).toEqual((await stepOf(expected, token(9))).data);
  });

  test("caches may grow while steps are recorded", async () => {
    const [expected, recorded] = [await modelOn(hw), await modelOn(hw)];
    const long = randomTensor(7, [1, 60, 24]);
    await stepOf(expected, long);
    await stepOf(recorded, long);
    const wanted = [];
    for (let step = 0; step < 8; ++step) wanted.push(await stepOf(expected, token(step)));
    const encoder = device.createCommandEncoder();
    const steps = [];
    for (let step = 0; step < 8; ++step) steps.push(await recordStep(recorded, encoder, token(step)));
    submitted(encoder);
    for (const [step, results] of steps.entries())
      expect(await results.at(-1)!.output.data()).toEqual(float32Of(wanted[step]!));
    for (const results of steps) for (const result of results) result.dispose();
    expect((await stepOf(recorded, token(9))).data).toEqual((await stepOf(expected, token(9))).data);
  });

  test("records before it returns if its kernels are compiled", async () => {
    using layer = await hw.multiHeadAttention(options(0));
    const expected = await layer.forward(x, { causal: true });
    using there = await hw.gpu!.upload(x);
    const first = device.createCommandEncoder();
    const compiled = await layer.forward(there, { encoder: first, causal: true });
    submitted(first);
    compiled.dispose();
    const encoder = device.createCommandEncoder();
    const recording = layer.forward(there, { encoder, causal: true, returns: { lse: true } });
    submitted(encoder);
    using result = await recording;
    expect(await result.output.data()).toEqual(expected.output.data);
    expect(result.lse.shape).toEqual([1, 3, 5]);
  });

  test("takes contexts, columns and layers without output projection", async () => {
    const { Wq, Wk, Wv } = options(0).weights;
    const columns = { ...options(0), weights: { Wq, Wk, Wv }, layout: "BES", outputProjection: false } as const;
    using layer = await hw.multiHeadAttention(columns);
    const input = tensor(x.data, [1, 24, 5]);
    const key = randomTensor(8, [1, 24, 7]);
    const expected = await layer.forward(input, { key });
    const encoder = device.createCommandEncoder();
    using result = await layer.forward(input, { encoder, key });
    submitted(encoder);
    expect(result.output.shape).toEqual([1, 24, 5]);
    expect(await result.output.data()).toEqual(expected.output.data);
  });

  test("a call that is refused leaves the cache as it was", async () => {
    using layer = await hw.multiHeadAttention(options(0));
    using cache = await layer.kvCache();
    await layer.forward(x, { cache });
    const before = await cache.save();
    const encoder = device.createCommandEncoder();
    encoder.finish();
    for (const reason of [
      await thrown(layer.forward(x, { encoder: {}, cache })),
      await thrown(layer.forward(x, { encoder, cache })),
      await thrown(layer.forward(x, { encoder: device.createCommandEncoder(), cache, emptyRows: "throw" })),
    ]) {
      expect(OptionError.is(reason)).toBe(true);
      expect(String(reason)).toMatch(/layer\.forward: (encoder|emptyRows) must/);
    }
    expect(cache.length).toBe(5);
    expect(Buffer.compare(await cache.save(), before)).toBe(0);
  });

  test("a layer on wasm records nothing, and says so", async () => {
    const wasm = await createAttention({ backend: "wasm", threads: 1 });
    const layer = await wasm.multiHeadAttention(options(0));
    const reason = await thrown(layer.forward(x, { encoder: device.createCommandEncoder() }));
    expect(UnsupportedError.is(reason)).toBe(true);
    expect(String(reason)).toMatch(
      /layer\.forward: encoder needs WebGPU: this layer is on wasm, which records no GPU commands/,
    );
    wasm.dispose();
  });
});

describeOnNullGpu("the steps of a model of several layers", () => {
  let counted: CountedGpu;
  let hw: Attention;
  beforeAll(async () => {
    counted = new CountedGpu();
    hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
  });
  afterAll(() => {
    hw.dispose();
    counted.restore();
  });

  test("a recorded step is one submit", async () => {
    const model = await modelOn(hw);
    const device = hw.gpu!.device as GPUDevice;
    const step = async (n: number) => {
      const encoder = device.createCommandEncoder();
      const results = await recordStep(model, encoder, token(n));
      device.queue.submit([encoder.finish()]);
      for (const result of results) result.dispose();
    };
    for (let n = 0; n < 3; ++n) await step(n);
    const counts = await counted.count(() => step(3));
    expect(counts).toMatchObject({ submit: 1, createComputePipelineAsync: 0 });
    expect(counts.beginComputePass).toBe(LAYERS);
  });

  test("a repeated forward makes nothing, and has one pass, one upload, one submit and no wait", async () => {
    using layer = await hw.multiHeadAttention({ ...options(0), qkNorm: { kind: "rms" } });
    using there = await hw.gpu!.upload(x);
    using long = await hw.gpu!.upload(randomTensor(1, [1, 80, 24]));
    for (const input of [there, long]) {
      const forward = async () => {
        (await layer.forward(input, { causal: true, location: "gpu" })).output.dispose();
      };
      for (let call = 0; call < 3; ++call) await forward();
      const counts = await counted.count(forward);
      expect(counts).toMatchObject({
        createBuffer: 0,
        createBindGroup: 0,
        createComputePipelineAsync: 0,
        beginComputePass: 1,
        writeBuffer: 1,
        submit: 1,
        waits: 0,
      });
    }
  });

  test("so does a step with a cache", async () => {
    using layer = await hw.multiHeadAttention(options(0));
    using cache = await layer.kvCache({ capacity: 64 });
    using there = await hw.gpu!.upload(token(0));
    const forward = async () => {
      (await layer.forward(there, { cache, causal: true, location: "gpu" })).output.dispose();
    };
    for (let call = 0; call < 3; ++call) await forward();
    expect(await counted.count(forward)).toMatchObject({
      createBuffer: 0,
      createBindGroup: 0,
      beginComputePass: 1,
      writeBuffer: 1,
      submit: 1,
      waits: 0,
    });
  });
});
