import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention, type GpuFloats, type GpuTensor, type KvCache } from "headwise";
import { formula } from "headwise/formula";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { CountedGpu } from "./countedGpu.js";
import { describeOnGpu, describeOnNullGpu, disposeAll, gpu, nullGpu, openTestDevice } from "./gpu.js";

const x = randomTensor(1, [1, 2, 4, 8]);
const long = randomTensor(2, [1, 2, 1500, 8]);
const square = randomTensor(5, [16, 16]);
const odd = randomTensor(3, [1, 2, 4, 7]);
const score = formula("s * factor + shift[k]", { factor: 2, shift: [1, 2, 3, 4] });
const every = { lse: true, entropy: true, probs: true, topK: 2, scores: "raw" } as const;

type Tensors = Readonly<Record<"x" | "long" | "odd" | "bias", GpuFloats> & { readonly lse: GpuTensor<"float32"> }>;
type Work = (hw: Attention, tensors: Tensors, cache: KvCache) => Promise<unknown>;

/** Calls that are repeated, and how often they wait for the GPU. */
const calls: [what: string, waits: number, work: Work][] = [
  ["results on the GPU", 0, async (hw, { x }) => {
    disposeAll(await hw.scaledDotProductAttention(x, x, x, { location: "gpu" }));
  }],
  ["every result on the GPU", 0, async (hw, { x }) => {
    disposeAll(await hw.scaledDotProductAttention(x, x, x, { location: "gpu", returns: every, causal: true }));
  }],
  ["many keys, in parts", 0, async (hw, { x, long }) => {
    disposeAll(await hw.scaledDotProductAttention(x, long, long, { location: "gpu" }));
  }],
  ["a width that is packed first", 0, async (hw, { odd }) => {
    disposeAll(await hw.scaledDotProductAttention(odd, odd, odd, { location: "gpu" }));
  }],
  ["into a tensor on the GPU", 0, (hw, { x, long }) => hw.scaledDotProductAttention(x, long, long, { into: x })],
  ['emptyRows "throw" with results on the GPU', 1, async (hw, { x }) => {
    const options = { location: "gpu", emptyRows: "throw" } as const;
    // The null device computes nothing, so rows may seem to see no key.
    disposeAll(await hw.scaledDotProductAttention(x, x, x, options).catch(() => ({})));
  }],
  ["results in JavaScript", 1, (hw, { x }) => hw.scaledDotProductAttention(x, x, x, { returns: every })],
  ["rotaryEmbedding", 0, async (hw, { x }) => (await hw.rotaryEmbedding(x, { location: "gpu" })).dispose()],
  ["rotaryEmbedding in place", 0, (hw, { x }) => hw.rotaryEmbedding(x, { into: x })],
  ["rotaryEmbedding, read", 1, (hw, { x }) => hw.rotaryEmbedding(x)],
  ["mergeAttention", 0, async (hw, { x, lse }) => {
    disposeAll(await hw.mergeAttention([{ output: x, lse }, { output: x, lse }], { location: "gpu" }));
  }],
  ["mergeAttention into a tensor, and its lse read", 1, async (hw, { x, lse }) =>
    hw.mergeAttention([{ output: x, lse }, { output: x, lse }], { into: x })],
  ["every gradient on the GPU", 0, async (hw, { odd, lse, bias }) => {
    const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dHeadGain: true, dTables: true } as const;
    const call = { query: odd, key: odd, value: odd, output: odd, lse, dOutput: odd, bias, score, returns };
    disposeAll(await hw.attentionBackward({ ...call, location: "gpu" }));
  }],
  ["gradients in JavaScript", 1, (hw, { odd, lse }) =>
    hw.attentionBackward({ query: odd, key: odd, value: odd, output: odd, lse, dOutput: odd })],
  ["an append", 0, async (_, { x }, cache) => {
    await cache.append(x, x);
  }],
  ["a step of a cache", 0, async (_, { x }, cache) => {
    disposeAll(await cache.step(x, x, x, { location: "gpu", causal: true }));
  }],
  ["a cache, with results on the GPU", 0, async (_, { x }, cache) => {
    disposeAll(await cache.attend(x, { location: "gpu", causal: true }));
  }],
  ["a cache, with results in JavaScript", 1, (_, { x }, cache) => cache.attend(x)],
]; // oxfmt-ignore

describeOnNullGpu("a call that is repeated", () => {
  let counted: CountedGpu;
  let hw: Attention;
  let tensors: Tensors;
  let cache: KvCache;
  beforeAll(async () => {
    counted = new CountedGpu();
    hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    tensors = {
      x: await hw.gpu!.upload(x),
      long: await hw.gpu!.upload(long),
      odd: await hw.gpu!.upload(odd),
      bias: await hw.gpu!.upload(randomTensor(6, [4, 4])),
      lse: await hw.gpu!.upload(randomTensor(4, [1, 2, 4])),
    };
    cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, rotary: {}, ring: { window: 64 } });
    await cache.append(x, x);
  });
  afterAll(() => {
    hw.dispose();
    counted.restore();
  });

  test.each(calls)("%s: makes nothing, and has one pass, one upload, one submit and %d waits", async (_, waits, work) => {
    for (let call = 0; call < 3; ++call) await work(hw, tensors, cache);
    const counts = await counted.count(() => work(hw, tensors, cache));
    expect(counts).toEqual({
      createBuffer: 0,
      createBindGroup: 0,
      createComputePipelineAsync: 0,
      beginComputePass: 1,
      dispatchWorkgroups: counts.dispatchWorkgroups,
      writeBuffer: 1,
      submit: 1,
      waits,
    });
    expect(counts.dispatchWorkgroups).toBeGreaterThan(0);
  }); // oxfmt-ignore

  test("tensors in JavaScript are one upload more each, and a result that is kept is one buffer", async () => {
    const work = () => hw.scaledDotProductAttention(x, x, x, { causal: true });
    for (let call = 0; call < 2; ++call) await work();
    expect(await counted.count(work)).toMatchObject({
      createBuffer: 0,
      createBindGroup: 0,
      submit: 1,
      writeBuffer: 4,
      waits: 1,
    });
    const { x: there } = tensors;
    const keep = () => hw.scaledDotProductAttention(there, there, there, { location: "gpu" });
    await keep();
    expect(await counted.count(keep)).toMatchObject({ createBuffer: 1, createBindGroup: 1, submit: 1 });
  });

  test("a recorded call makes nothing, has one pass and one upload, and waits once for a new encoder", async () => {
    const device = hw.gpu!.device as GPUDevice;
    const { x: there } = tensors;
    const into = await hw.gpu!.upload(x);
    const encode = async () => {
      const encoder = device.createCommandEncoder();
      const all = [
        await hw.scaledDotProductAttention(there, there, there, { encoder, into }),
        await cache.append(there, there, { encoder }),
        await cache.attend(there, { encoder, causal: true, returns: { lse: true } }),
      ];
      device.queue.submit([encoder.finish()]);
      for (const recorded of all) recorded.dispose();
    };
    for (let call = 0; call < 3; ++call) await encode();
    const counts = await counted.count(encode);
    expect(counts).toEqual({
      createBuffer: 0,
      createBindGroup: 0,
      createComputePipelineAsync: 0,
      beginComputePass: 3,
      dispatchWorkgroups: counts.dispatchWorkgroups,
      writeBuffer: 3,
      submit: 1,
      waits: 1,
    });
  });

  test("a decoding step of 32 caches is one submit, and all is recorded before the first promise has settled", async () => {
    const device = hw.gpu!.device as GPUDevice;
    const { x: there } = tensors;
    const form = { numKvHeads: 2, headDim: 8, rotary: {}, ring: { window: 64 } };
    const caches = await Promise.all(Array.from({ length: 32 }, () => hw.kvCache(form)));
    const step = async () => {
      const encoder = device.createCommandEncoder();
      const recording = caches.flatMap((each) => [
        each.append(there, there, { encoder }),
        each.attend(there, { encoder, causal: true }),
      ]);
      device.queue.submit([encoder.finish()]);
      for (const recorded of await Promise.all(recording)) recorded.dispose();
    };
    for (const each of caches) await each.step(there, there, there, { causal: true }); // compiles
    for (let call = 0; call < 3; ++call) await step();
    expect(await counted.count(step)).toMatchObject({ createBuffer: 0, createBindGroup: 0, submit: 1, waits: 1 });
    expect(caches.every(({ appended }) => appended[0] === 5 * 4)).toBe(true);
    for (const each of caches) each.dispose();
  });

  test("a layer whose input lies on the GPU is one pass, one upload and one submit, also with a cache", async () => {
    const weights = { Wq: square, Wk: square, Wv: square, Wo: square };
    const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights, position: { kind: "rotary" } });
    const held = await layer.kvCache({ ring: { window: 64 } });
    const there = await hw.gpu!.upload(randomTensor(6, [1, 4, 16]));
    const device = hw.gpu!.device as GPUDevice;
    const works: [waits: number, passes: number, work: () => Promise<unknown>][] = [
      [0, 1, async () => disposeAll(await layer.forward(there, { location: "gpu" }))],
      [0, 1, async () => disposeAll(await layer.forward(there, { location: "gpu", cache: held, causal: true }))],
      [1, 1, () => layer.forward(there)],
      [1, 32, async () => {
        const encoder = device.createCommandEncoder();
        const recording = Array.from({ length: 32 }, () => layer.forward(there, { encoder, cache: held, causal: true }));
        device.queue.submit([encoder.finish()]);
        for (const recorded of await Promise.all(recording)) recorded.dispose();
      }],
    ]; // oxfmt-ignore
    for (const [waits, passes, work] of works) {
      for (let call = 0; call < 3; ++call) await work();
      expect(await counted.count(work)).toMatchObject({
        createBuffer: 0,
        createBindGroup: 0,
        createComputePipelineAsync: 0,
        beginComputePass: passes,
        writeBuffer: passes,
        submit: 1,
        waits,
      });
    }
    for (const each of [layer, held]) each.dispose();
  });

  test("after prepare, encode has recorded when it returns; without prepare it records later", async () => {
    const device = await openTestDevice(nullGpu);
    const own = await createAttention({ backend: "webgpu", device });
    const options = { causal: true, returns: { lse: true } } as const;
    const record = () => {
      const encoder = device.createCommandEncoder();
      const recording = [0, 1, 2].map(() => own.scaledDotProductAttention(x, x, x, { encoder, ...options }));
      expect(counted.soFar("beginComputePass")).toBe(0);
      return Promise.all(recording);
    };
    expect(await counted.count(record)).toMatchObject({ beginComputePass: 3, submit: 0 });
    own.dispose();

    const other = await openTestDevice(nullGpu);
    const prepared = await createAttention({ backend: "webgpu", device: other });
    await prepared.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, { compute: false, ...options });
    const counts = await counted.count(() => {
      const encoder = other.createCommandEncoder();
      const recording = [0, 1, 2].map(() => prepared.scaledDotProductAttention(x, x, x, { encoder, ...options }));
      expect(counted.soFar("beginComputePass")).toBe(3); // before any promise has settled
      other.queue.submit([encoder.finish()]);
      return Promise.all(recording);
    });
    expect(counts).toMatchObject({ createComputePipelineAsync: 0, beginComputePass: 3, submit: 1 });
    prepared.dispose();
    for (const each of [device, other]) each.destroy();
  });
});

describeOnGpu("a call that is repeated", () => {
  test("gives the same bits each time, whatever other calls left in the buffers", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const [there, other] = [await hw.gpu!.upload(x), await hw.gpu!.upload(long)];
    const expected = float32Of((await hw.scaledDotProductAttention(x, x, x, { causal: true })).output);
    for (let call = 0; call < 20; ++call) {
      const { output } = await hw.scaledDotProductAttention(there, there, there, { causal: true, location: "gpu" });
      disposeAll(await hw.scaledDotProductAttention(there, other, other, { location: "gpu", returns: { lse: true } }));
      expect(float32Of({ data: await output.data() })).toEqual(expected);
      output.dispose();
    }
    hw.dispose();
  });
});
