import { expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  OptionError,
  tensor,
  toNested,
  UnsupportedError,
  type Attention,
  type GpuTensor,
  type Tensor,
} from "headwise";
import { createAttention as createOnGpuAlone } from "headwise/webgpu";

import { describePlainArguments } from "../web/plainArguments.js";
import { randomTensor } from "../web/randomTensor.js";
import { createOnSharedDevice, describeOnGpu, gpu, openTestDevice } from "./gpu.js";

type Floats = Tensor<"float32">;

const [STORAGE, COPY_SRC, COPY_DST] = [0x80, 0x4, 0x8];

/** Every dtype, of an odd number of elements: copies take whole words. */
const TENSORS: readonly Tensor[] = [
  tensor([[1, 2, 3]]),
  tensor([[0.5, -2, 65504]], "float16"),
  tensor([[true, false, true]]),
  tensor([[7, -8, 9]], "int32"),
  tensor(new Float32Array(0), [0, 4]),
];

const reasonOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "it was done",
    (reason: unknown) => reason,
  );

describeOnGpu("WebGPU takes what wasm takes", () => {
  describePlainArguments("WebGPU", createOnSharedDevice);
});

describeOnGpu("upload and download", () => {
  test.each<[what: string, create: () => Promise<Attention>]>([
    ["webgpu", () => createAttention({ backend: "webgpu", gpu: gpu! })],
    ["auto", () => createAttention({ threads: 1, gpu: gpu! })],
    ["headwise/webgpu", () => createOnGpuAlone({ gpu: gpu! })],
  ])("by %s give back the numbers of every dtype", async (_what, create) => {
    const hw = await create();
    for (const given of TENSORS) {
      const there = await hw.upload(given);
      expect([there.shape, there.dtype, there.offset]).toEqual([given.shape, given.dtype, 0]);
      expect(await hw.download(there)).toEqual(given);
      expect(await there.data()).toEqual(given.data);
      there.dispose();
      expect(DisposedError.is(await reasonOf(hw.download(there)))).toBe(true);
    }
    hw.dispose();
  });

  test("what was uploaded is read where it lies, with the bits of a call on arrays", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor(seed, [1, 2, 5, 8])) as [Floats, Floats, Floats];
    const mask = tensor(new Uint8Array(25).fill(1), [5, 5]);
    const expected = await hw.scaledDotProductAttention(q, k, v, { causal: true, mask });
    const [onGpuQ, onGpuK, onGpuV] = [await hw.upload(q), await hw.upload(k), await hw.upload(v)];
    const { output } = await hw.scaledDotProductAttention(onGpuQ, onGpuK, onGpuV, {
      causal: true,
      mask: await hw.upload(mask),
      location: "gpu",
    });
    expect(await hw.download(output as GpuTensor<"float32">)).toEqual(expected.output);
    hw.dispose();
  });

  test("device is the caller's own, or the one that was opened, for buffers of the caller", async () => {
    const own = await openTestDevice();
    const onOwn = await createAttention({ backend: "webgpu", device: own });
    expect(onOwn.device).toBe(own);
    onOwn.dispose();
    own.destroy();

    const auto = await createAttention({ threads: 1, gpu: gpu! });
    expect(auto.device).toBeUndefined();
    await auto.upload(tensor([1]));
    const device = auto.device as GPUDevice;
    const buffer = device.createBuffer({ size: 64, usage: STORAGE | COPY_SRC | COPY_DST });
    device.queue.writeBuffer(buffer, 20, Float32Array.of(4, 5, 6));
    expect(toNested(await auto.download({ buffer, offset: 20, shape: [3], dtype: "float32" }))).toEqual([4, 5, 6]);
    auto.dispose();
  });

  test("refuse what they cannot move, and leave the instance usable", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const device = hw.device as GPUDevice;
    const there = await hw.upload(tensor([1, 2]));
    const closed = device.createBuffer({ size: 16, usage: STORAGE });
    const refused: [promise: Promise<unknown>, message: RegExp][] = [
      [hw.upload(there as never), /^upload: tensor is a GPU tensor/],
      [hw.upload("x" as never), /^upload: tensor must be a tensor/],
      [hw.download(tensor([1]) as never), /^download: tensor must lie on the GPU, got one in JavaScript/],
      [
        hw.download({ buffer: closed, shape: [4], dtype: "float32" }),
        /^download: tensor\.buffer must have usage COPY_SRC/,
      ],
      [
        hw.download({ buffer: closed, shape: [5], dtype: "float32" }),
        /^download: tensor must fit its buffer, got 20 bytes/,
      ],
    ];
    for (const [promise, message] of refused)
      expect(String((await reasonOf(promise)) as Error).replace(/^\w+: /, "")).toMatch(message);
    expect(await hw.download(there)).toEqual(tensor([1, 2]));
    hw.dispose();
    expect(DisposedError.is(await reasonOf(hw.upload(tensor([1]))))).toBe(true);
  });
});

test("upload and download are refused by an instance without a GPU, and it has no device", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  expect(hw.device).toBeUndefined();
  const refusal = (await reasonOf(hw.upload(tensor([1])))) as UnsupportedError;
  expect(UnsupportedError.is(refusal)).toBe(true);
  expect(refusal.message).toBe("upload: this instance computes with wasm, which has no tensors on the GPU");
  expect(UnsupportedError.is(await reasonOf(hw.download({ buffer: {}, shape: [1], dtype: "float32" })))).toBe(true);
  expect(OptionError.is(await reasonOf(hw.upload(1 as never)))).toBe(true);
  hw.dispose();
});
