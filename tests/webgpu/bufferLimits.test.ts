// Arrays that are larger than a binding or a buffer of the device may be. Its limits are lowered here, because those of
// the standard are 128 and 256 MiB, and Dawn's own checks stay as they are.

import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createAttention, UnsupportedError, type Attention, type GpuTensor } from "headwise";
import { formula } from "headwise/formula";

import { randomTensor } from "../web/randomTensor.js";
import { describeOnNullGpu, nullGpu, openTestDevice, withEmptyKernels } from "./gpu.js";

const USAGE = 0x80 | 0x4 | 0x8; // STORAGE | COPY_SRC | COPY_DST

/** Its buffers and bindings may have so many bytes. */
function lowered(device: GPUDevice, maxStorageBufferBindingSize: number, maxBufferSize: number): void {
  const names = Object.keys(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(device.limits) as object));
  const { limits } = device;
  const own = Object.fromEntries(names.map((name) => [name, limits[name as keyof GPUSupportedLimits]]));
  Object.defineProperty(device, "limits", { value: { ...own, maxStorageBufferBindingSize, maxBufferSize } });
}

describeOnNullGpu("arrays that the device cannot hold", () => {
  withEmptyKernels();
  let device: GPUDevice;
  let hw: Attention;
  beforeEach(async () => {
    device = await openTestDevice(nullGpu);
    lowered(device, 4096, 16384);
    hw = await createAttention({ backend: "webgpu", device });
  });
  afterEach(() => {
    hw.dispose();
    device.destroy();
  });

  const large = randomTensor(1, [1, 2, 80, 8]); // 5120 bytes
  const lse = randomTensor(2, [1, 2, 80]);
  const x = randomTensor(3, [80, 16]);

  test.each<[string, () => Promise<unknown>]>([
    ["rotaryEmbedding", () => hw.rotaryEmbedding(large)],
    ["mergeAttention", () => hw.mergeAttention([{ output: large, lse }])],
    ["scaledDotProductAttention", () => hw.scaledDotProductAttention(large, large, large)],
    ["linear", () => hw.linear(x, randomTensor(4, [16, 16]))],
    ["linearBackward", () => hw.linearBackward({ x, weight: randomTensor(4, [16, 4]), dOutput: randomTensor(5, [80, 4]) })], // oxfmt-ignore
    ["cache.append", async () => (await hw.kvCache({ numKvHeads: 2, headDim: 8, dtype: "int8" })).append(large, large)],
  ])("%s says which limit of the device they exceed", async (operation, call) => {
    const reason: unknown = await call().then(() => "it was computed", (thrown: unknown) => thrown); // oxfmt-ignore
    expect(UnsupportedError.is(reason)).toBe(true);
    expect(String(reason)).toMatch(
      / needs a buffer of \d+ bytes, over the device's maxStorageBufferBindingSize of 4096$/,
    );
    expect(String(reason)).toContain(`${operation}: `);
  });

  test("results that are read back together are limited as one buffer", async () => {
    const [query, key] = [randomTensor(1, [1, 1, 16, 8]), randomTensor(2, [1, 1, 60, 8])];
    const returns = { probs: true, scores: "raw", topK: 60, lse: true } as const; // each below 4096 bytes
    await hw.scaledDotProductAttention(query, key, key, { returns: { probs: true, scores: "raw" } });
    lowered(device, 4096, 8192);
    const small = await createAttention({ backend: "webgpu", device });
    const reason: unknown = await small.scaledDotProductAttention(query, key, key, { returns }).then(() => "it was computed", (thrown: unknown) => thrown); // oxfmt-ignore
    expect(UnsupportedError.is(reason)).toBe(true);
    expect(String(reason)).toMatch(
      /what is read back needs a buffer of \d+ bytes, over the device's maxBufferSize of 8192$/,
    );
    small.dispose();
  });

  test("masks, biases and what is read back are refused by name, by plan as by the call", async () => {
    lowered(device, 4096, 8192);
    const small = await createAttention({ backend: "webgpu", device });
    const x = randomTensor(1, [1, 1, 70, 4]);
    const floats = (rows: number, columns: number) => randomTensor(2, [rows, columns]);
    const cases = [
      [{ mask: { data: new Uint8Array(4900), shape: [70, 70], dtype: "bool" } }, "mask needs a buffer of 4900 bytes"],
      [{ bias: floats(70, 70) }, "bias needs a buffer of 19600 bytes"],
      [{ score: formula("s + t[q]", { t: new Float32Array(2000) }) }, "the formulas' tables needs a buffer of"],
    ] as const;
    for (const [options, problem] of cases) {
      const call = small.scaledDotProductAttention(x, x, x, options);
      await expect(call).rejects.toThrow(`scaledDotProductAttention: ${problem}`);
      const given = { query: x, key: x, value: x, output: x, lse: randomTensor(3, [1, 1, 70]), dOutput: x };
      await expect(small.attentionBackward({ ...given, ...options })).rejects.toThrow(`attentionBackward: ${problem}`);
      const plan = await small.plan({ numHeads: 1, queryLength: 70, headDim: 4 }, options);
      expect([problem, plan.bytes.webgpu, plan.why.includes(problem)]).toEqual([problem, undefined, true]);
    }
    const few = randomTensor(1, [1, 1, 16, 8]);
    const keys = randomTensor(2, [1, 1, 60, 8]);
    const returns = { probs: true, scores: "raw", lse: true } as const; // each below 4096 bytes, together above 8192
    const plan = await small.plan({ numHeads: 1, queryLength: 16, keyLength: 60, headDim: 8 }, { returns });
    await expect(small.scaledDotProductAttention(few, keys, keys, { returns })).rejects.toThrow("what is read back");
    expect([plan.bytes.webgpu, plan.why]).toEqual([undefined, expect.stringContaining("what is read back")]);
    small.dispose();
  });

  test("a small tensor in a buffer that is larger than a binding is used where it lies", async () => {
    const bound = boundSizes(device);
    const buffer = device.createBuffer({ size: 8192, usage: USAGE });
    const tensor: GpuTensor<"float32"> = { buffer, offset: 4096, shape: [1, 2, 4, 8], dtype: "float32" };
    await hw.rotaryEmbedding(tensor);
    expect(Math.max(...bound)).toBeLessThanOrEqual(4096);
  });
});

/** The bytes of all bindings that are made from now on. */
function boundSizes(device: GPUDevice): readonly number[] {
  const sizes: number[] = [];
  const original = device.createBindGroup.bind(device);
  device.createBindGroup = (descriptor) => {
    for (const { resource } of descriptor.entries as { resource: GPUBufferBinding }[])
      sizes.push(resource.size ?? resource.buffer.size);
    return original(descriptor);
  };
  return sizes;
}
