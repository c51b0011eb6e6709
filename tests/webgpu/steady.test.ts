import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention, type GpuFloats, type GpuResult, type KvCache } from "headwise";

import { float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { CountedGpu } from "./countedGpu.js";
import { describeOnGpu, describeOnNullGpu, gpu, nullGpu } from "./gpu.js";

const x = randomTensor(1, [1, 2, 4, 8]);
const long = randomTensor(2, [1, 2, 1500, 8]);
const odd = randomTensor(3, [1, 2, 4, 7]);
const every = { lse: true, entropy: true, probs: true, topK: 2, scores: "raw" } as const;

type Tensors = Readonly<Record<"x" | "long" | "odd" | "mask", GpuFloats>>;
type Work = (hw: Attention, tensors: Tensors, cache: KvCache) => Promise<unknown>;

/** Disposes every tensor of a result that stayed on the GPU. */
function disposeAll(result: object): void {
  for (const part of Object.values(result) as object[])
    if ("dispose" in part) (part as GpuResult).dispose();
    else disposeAll(part);
}

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
    // The null device computes zeros, so every row seems to see no key.
    disposeAll(await hw.scaledDotProductAttention(x, x, x, options).catch(() => ({})));
  }],
  ["results in JavaScript", 1, (hw, { x }) => hw.scaledDotProductAttention(x, x, x, { returns: every })],
  ["a cache, with results on the GPU", 0, async (_, { x }, cache) => {
    disposeAll(await cache.attend(x, { location: "gpu", causal: true }));
  }],
  ["a cache, with results in JavaScript", 1, (_, { x }, cache) => cache.attend(x)],
]; // prettier-ignore

describeOnNullGpu("a call that is repeated", () => {
  let counted: CountedGpu;
  let hw: Attention;
  let tensors: Tensors;
  let cache: KvCache;
  beforeAll(async () => {
    counted = new CountedGpu();
    hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
    tensors = {
      x: await hw.upload(x),
      long: await hw.upload(long),
      odd: await hw.upload(odd),
      mask: await hw.upload(x),
    };
    cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, rotary: {} });
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
  }); // prettier-ignore
});

describeOnGpu("a call that is repeated", () => {
  test("gives the same bits each time, whatever other calls left in the buffers", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const [there, other] = [await hw.upload(x), await hw.upload(long)];
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
