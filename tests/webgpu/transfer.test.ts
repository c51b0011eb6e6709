import { expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  tensor,
  toNested,
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
      const there = await hw.gpu!.upload(given);
      expect([there.shape, there.dtype, there.offset]).toEqual([given.shape, given.dtype, 0]);
      expect(await hw.gpu!.download(there)).toEqual(given);
      expect(await there.data()).toEqual(given.data);
      there.dispose();
      expect(DisposedError.is(await reasonOf(hw.gpu!.download(there)))).toBe(true);
    }
    hw.dispose();
  });

  test("what was uploaded is read where it lies, with the bits of a call on arrays", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const [q, k, v] = [1, 2, 3].map((seed) => randomTensor(seed, [1, 2, 5, 8])) as [Floats, Floats, Floats];
    const mask = tensor(new Uint8Array(25).fill(1), [5, 5]);
    const expected = await hw.scaledDotProductAttention(q, k, v, { causal: true, mask });
    const [onGpuQ, onGpuK, onGpuV] = [await hw.gpu!.upload(q), await hw.gpu!.upload(k), await hw.gpu!.upload(v)];
    const { output } = await hw.scaledDotProductAttention(onGpuQ, onGpuK, onGpuV, {
      causal: true,
      mask: await hw.gpu!.upload(mask),
      location: "gpu",
    });
    expect(await hw.gpu!.download(output as GpuTensor<"float32">)).toEqual(expected.output);
    hw.dispose();
  });

  test("device is the caller's own, or the one that was opened, for buffers of the caller", async () => {
    const own = await openTestDevice();
    const onOwn = await createAttention({ backend: "webgpu", device: own });
    expect(onOwn.gpu!.device).toBe(own);
    onOwn.dispose();
    own.destroy();

    const auto = await createAttention({ threads: 1, gpu: gpu! });
    expect(auto.gpu!.device).toBeUndefined();
    await auto.gpu!.upload(tensor([1]));
    const device = auto.gpu!.device as GPUDevice;
    const buffer = device.createBuffer({ size: 64, usage: STORAGE | COPY_SRC | COPY_DST });
    device.queue.writeBuffer(buffer, 20, Float32Array.of(4, 5, 6));
    expect(toNested(await auto.gpu!.download({ buffer, offset: 20, shape: [3], dtype: "float32" }))).toEqual([4, 5, 6]);
    auto.dispose();
  });

  test("refuse what they cannot move, and leave the instance usable", async () => {
    const hw = await createAttention({ backend: "webgpu", gpu: gpu! });
    const device = hw.gpu!.device as GPUDevice;
    const there = await hw.gpu!.upload(tensor([1, 2]));
    const closed = device.createBuffer({ size: 16, usage: STORAGE });
    const refused: [promise: Promise<unknown>, message: RegExp][] = [
      [hw.gpu!.upload(there as never), /^gpu\.upload: tensor is a GPU tensor/],
      [hw.gpu!.upload("x" as never), /^gpu\.upload: tensor must be a tensor/],
      [hw.gpu!.download(tensor([1]) as never), /^gpu\.download: tensor must lie on the GPU, got one in JavaScript/],
      [
        hw.gpu!.download({ buffer: closed, shape: [4], dtype: "float32" }),
        /^gpu\.download: tensor\.buffer must have usage COPY_SRC/,
      ],
      [
        hw.gpu!.download({ buffer: closed, shape: [5], dtype: "float32" }),
        /^gpu\.download: tensor must fit its buffer, got 20 bytes/,
      ],
    ];
    for (const [promise, message] of refused)
      expect(String((await reasonOf(promise)) as Error).replace(/^\w+: /, "")).toMatch(message);
    expect(await hw.gpu!.download(there)).toEqual(tensor([1, 2]));
    hw.dispose();
    expect(DisposedError.is(await reasonOf(hw.gpu!.upload(tensor([1]))))).toBe(true);
  });
});

test("an instance without a GPU has no gpu", async () => {
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  expect(hw.gpu).toBeUndefined();
  hw.dispose();
});
