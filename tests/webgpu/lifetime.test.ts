import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  EmptyRowError,
  OptionError,
  OutOfMemoryError,
  type Attention,
  type GpuResult,
  type GpuTensor,
  type KvCache,
  type Tensor,
} from "headwise";

import { runProgram } from "../web/programs.js";
import { randomTensor } from "../web/randomTensor.js";
import { PoorGpu, WatchedGpu } from "./faultyGpu.js";
import { describeOnGpu, describeOnNullGpu, disposeAll, nullGpu, openTestDevice } from "./gpu.js";

const x = randomTensor(1, [1, 2, 4, 8]);
const tokens = randomTensor(2, [1, 4, 16]);
const weight = randomTensor(3, [16, 16]);
const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
const every = { lse: true, entropy: true, probs: true, topK: 2, scores: "raw" } as const;
const [STORAGE, COPY_SRC, COPY_DST, MAP_READ] = [0x80, 0x4, 0x8, 0x1];

const reasonOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => "it was computed", (reason: unknown) => reason); // oxfmt-ignore

describeOnNullGpu("what an instance has on a device", () => {
  let watch: WatchedGpu;
  let device: GPUDevice;
  let hw: Attention;
  beforeAll(() => {
    watch = new WatchedGpu();
  });
  beforeEach(async () => {
    device = await openTestDevice(nullGpu);
    hw = await createAttention({ backend: "webgpu", device });
    watch.buffers.clear();
  });
  afterEach(() => {
    hw.dispose();
    device.destroy();
  });
  afterAll(() => watch.restore());

  const callersTensor = (): GpuTensor<"float32"> & { buffer: GPUBuffer } => {
    const buffer = device.createBuffer({ size: 256, usage: STORAGE | COPY_SRC | COPY_DST });
    watch.buffers.delete(buffer);
    return { buffer, shape: [...x.shape], dtype: "float32" };
  };
  /** The new buffers that `work` leaves. */
  const made = async (work: () => Promise<unknown>) => {
    const before = new Set(watch.buffers);
    await work();
    return [...watch.buffers].filter((buffer) => !before.has(buffer));
  };

  test("the loss of a device is listened to once, however many instances and calls there are", async () => {
    const watched = await openTestDevice(nullGpu);
    let reactions = 0;
    const { lost } = watched;
    const then = lost.then.bind(lost) as (...reactions: unknown[]) => Promise<never>;
    void Object.assign(lost, {
      then: (...given: unknown[]) => {
        reactions += 1;
        return then(...given);
      },
    });
    for (let instance = 0; instance < 3; ++instance) {
      const own = await createAttention({ backend: "webgpu", device: watched });
      for (let call = 0; call < 5; ++call) await own.scaledDotProductAttention(x, x, x);
      own.dispose();
    }
    expect(reactions).toBe(1);
    watched.destroy();
  });

  test("dispose destroys every buffer on a device of the caller's but those of results", async () => {
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await cache.append(x, x);
    await (await cache.fork()).append(x, x);
    const layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
    await layer.forward(tokens);
    const { output } = await hw.scaledDotProductAttention(x, x, x, { location: "gpu" });
    const given = callersTensor();
    const recorded = await hw.scaledDotProductAttention(given, x, x, { encoder: device.createCommandEncoder() });
    const running = reasonOf(hw.scaledDotProductAttention(x, x, x));
    hw.dispose();
    expect(DisposedError.is(await running)).toBe(true);
    expect([...watch.buffers]).toEqual([output.buffer, recorded.output.buffer]);
    expect(DisposedError.is(await reasonOf(output.data()))).toBe(true);
    for (const result of [output, recorded, cache, layer]) result.dispose();
    expect(watch.buffers.size).toBe(0);
  });

  const running: [string, (hw: Attention) => Promise<unknown>][] = [
    ["scaledDotProductAttention", (hw) => hw.scaledDotProductAttention(x, x, x)],
    ["a call whose results stay", (hw) => hw.scaledDotProductAttention(x, x, x, { location: "gpu", returns: every })],
    ["kvCache", (hw) => hw.kvCache({ numKvHeads: 2, headDim: 8 })],
    ["multiHeadAttention", (hw) => hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights })],
    ["encode", (hw) => hw.scaledDotProductAttention(x, x, x, { encoder: device.createCommandEncoder() })],
  ];
  test.each(running)("%s that runs when the instance is disposed rejects and leaves no buffer", async (_, work) => {
    await work(hw);
    const other = await createAttention({ backend: "webgpu", device });
    for (const turns of [0, 1, 5, 20, 50]) {
      watch.buffers.clear();
      const one = await createAttention({ backend: "webgpu", device });
      const reason = reasonOf(work(one));
      for (let turn = 0; turn < turns; ++turn) await Promise.resolve();
      one.dispose();
      expect([turns, DisposedError.is(await reason) || String(await reason)]).toEqual([turns, true]);
      expect([turns, watch.buffers.size]).toEqual([turns, 0]);
    }
    other.dispose();
  });

  test("what a recorded call needs is used again when the last of its results was disposed", async () => {
    const encode = () =>
      hw.scaledDotProductAttention(x, x, x, { encoder: device.createCommandEncoder(), returns: every });
    const { output, lse, entropy, probs, scores, topK } = await encode();
    for (const result of [output, entropy, probs, scores, topK.values, topK.indices]) result.dispose();
    const others = await made(async () => (await encode()).dispose());
    expect(others.length).toBeGreaterThan(1); // the scratch of the first call is still in use
    lse.dispose();
    expect(await made(async () => (await encode()).dispose())).toEqual([]);
    expect(watch.buffers.size).toBeGreaterThan(1);
    hw.dispose();
    expect(watch.buffers.size).toBe(0);
  });

  test("dispose of a recorded call ends it with its results, also where the output has a place of the caller's", async () => {
    const into = callersTensor();
    const encoder = device.createCommandEncoder();
    const first = await hw.scaledDotProductAttention(x, x, x, { encoder, into, returns: { lse: true } });
    const second = await hw.scaledDotProductAttention(x, x, x, { encoder, into });
    device.queue.submit([encoder.finish()]);
    const { size } = watch.buffers;
    expect(size).toBeGreaterThan(2);
    first.dispose();
    first.dispose();
    second.dispose();
    expect(first.lse.disposed).toBe(true);
    const again = device.createCommandEncoder();
    await hw.scaledDotProductAttention(x, x, x, { encoder: again, into, returns: { lse: true } });
    await hw.scaledDotProductAttention(x, x, x, { encoder: again, into });
    expect(watch.buffers.size).toBe(size);
    await device.queue.onSubmittedWorkDone();
    into.buffer.destroy();
  });

  test("a recording that fails gives back the results that were to stay on the GPU", async () => {
    await hw.scaledDotProductAttention(x, x, x); // kernels are compiled, the pool has buffers
    const gone = callersTensor();
    gone.buffer.destroy();
    const unrecorded = await made(async () => {
      const encoding = hw.scaledDotProductAttention(gone, x, x, {
        encoder: device.createCommandEncoder(),
        returns: every,
      });
      expect(OptionError.is(await reasonOf(encoding))).toBe(true);
    });
    expect(unrecorded).toEqual([]);
  });

  test("reading a part of a cache leaves no buffer of the part", async () => {
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
    await cache.append(x, x);
    await cache.read(0, 2); // the pool has buffers
    expect(await made(() => cache.read(0, 2))).toEqual([]);
    expect(cache.length).toBe(4);
    cache.dispose();
  });

  test("a step that finds no memory for one of its buffers leaves the tokens of the cache as they were", async () => {
    const poor = new PoorGpu();
    const token = randomTensor(4, [1, 2, 1, 8]);
    const opened = async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
      await cache.append(x, x);
      return cache;
    };
    const step = async (cache: KvCache, at: number) => {
      poor.fail(at);
      return reasonOf(cache.step(token, token, token, { returns: { probs: true } }));
    };
    let failures = 0;
    for (let at = 1; ; ++at) {
      hw.dispose(); // an empty pool, so that every step needs buffers
      hw = await createAttention({ backend: "webgpu", device });
      poor.fail();
      const cache = await opened();
      const reason = await step(cache, at);
      poor.fail();
      if (!OutOfMemoryError.is(reason)) break;
      failures += 1;
      expect([at, cache.length]).toEqual([at, 4]);
      expect([at, (await cache.read()).key.shape]).toEqual([at, [1, 2, 4, 8]]);
    }
    expect(failures).toBeGreaterThan(2);
    poor.restore();
  });

  test.each(running)("%s that finds no memory for one of its buffers leaves none", async (_, work) => {
    const poor = new PoorGpu();
    const fresh = () => createAttention({ backend: "webgpu", device });
    const first = await fresh();
    poor.fail();
    await work(first);
    const needed = poor.made;
    expect(needed).toBeGreaterThan(1);
    for (let at = 1; at <= needed; ++at) {
      poor.fail();
      const one = await fresh();
      const left = await made(async () => {
        poor.fail(at);
        const reason = await reasonOf(work(one));
        expect([at, OutOfMemoryError.is(reason) || reason]).toEqual([at, true]);
      });
      expect([at, left]).toEqual([at, []]);
      one.dispose();
    }
    first.dispose();
    poor.restore();
  });

  test("a cache whose values are over the device's limit leaves no buffer for its keys", async () => {
    const reason = await reasonOf(hw.kvCache({ numKvHeads: 2 ** 10, headDim: 4, valueDim: 2 ** 20 }));
    expect(String(reason)).toMatch(/the cache's values needs a buffer of \d+ bytes, over the device's max/);
    expect(watch.buffers.size).toBe(0);
  });

  test.each(["webgpu", "auto"] as const)("%s: warmup for the GPU compiles what the call needs, and keeps nothing", async (backend) => {
    const own = await createAttention({ backend, device: await openTestDevice(nullGpu), threads: 1 });
    const options = { location: "gpu", causal: true, returns: every } as const;
    await own.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, options);
    const { compiled } = watch;
    expect(compiled).toBeGreaterThan(0);
    const result = await own.scaledDotProductAttention(x, x, x, options);
    expect(watch.compiled).toBe(compiled);
    const { topK, ...others } = result;
    for (const tensor of [topK.values, topK.indices, ...Object.values(others)]) tensor.dispose();
    own.dispose();
    expect(watch.buffers.size).toBe(0);
  }); // oxfmt-ignore
});

describeOnGpu("the results of an instance that computes", () => {
  let device: GPUDevice;
  let hw: Attention;
  beforeEach(async () => {
    device = await openTestDevice();
    hw = await createAttention({ backend: "webgpu", device });
  });
  afterEach(() => {
    hw.dispose();
    device.destroy();
  });

  test("a call that fails gives back the results that were to stay on the GPU", async () => {
    const watch = new WatchedGpu();
    const options = { location: "gpu", returns: every, emptyRows: "throw" } as const;
    disposeAll(await hw.scaledDotProductAttention(x, x, x, options));
    const buffers = new Set(watch.buffers);
    for (let call = 0; call < 2; ++call) {
      const reason = await reasonOf(hw.scaledDotProductAttention(x, x, x, { ...options, keyLengths: [0] }));
      expect(EmptyRowError.is(reason)).toBe(true);
    }
    expect([...watch.buffers].filter((buffer) => !buffers.has(buffer))).toEqual([]);
    watch.restore();
  });

  /** All bytes of a buffer. */
  const bytesOf = async (buffer: GPUBuffer) => {
    const readback = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, readback, 0, buffer.size);
    device.queue.submit([encoder.finish()]);
    await readback.mapAsync(MAP_READ);
    const bytes = new Uint8Array(readback.getMappedRange().slice(0));
    readback.destroy();
    return bytes;
  };

  test.each(["float32", "float16"] as const)("behind a %s result there is nothing of another call", async (dtype) => {
    const full = (length: number) => ({ data: new Float32Array(length).fill(3), shape: [1, 1, length, 1] });
    const returns = { ...every, topK: 1 };
    // Results of four words leave nothing but threes, nines and a half in the buffers that the small results get.
    const earlier = [];
    for (let call = 0; call < 2; ++call)
      earlier.push(await hw.scaledDotProductAttention(full(4), full(1), full(1), { location: "gpu", returns }));
    earlier.forEach(disposeAll);
    const small = (value: number) => {
      const data = dtype === "float32" ? new Float32Array(3).fill(value) : new Uint16Array(3).fill(0x3c00 + value);
      return { data, shape: [1, 1, 1, 3] };
    };
    const result = await hw.scaledDotProductAttention(small(1), small(2), small(3), { location: "gpu", returns });
    const recorder = device.createCommandEncoder();
    const recorded = await hw.scaledDotProductAttention(small(1), small(2), small(3), { encoder: recorder, returns });
    device.queue.submit([recorder.finish()]);
    for (const { topK, output, lse, entropy, probs, scores } of [result, recorded])
      for (const tensor of [output, lse, entropy, probs, scores, topK.values, topK.indices] as GpuResult[]) {
        const { byteLength } = await tensor.data();
        const bytes = await bytesOf(tensor.buffer as GPUBuffer);
        expect([...bytes.subarray(byteLength)]).toEqual(new Array<number>(16 - byteLength).fill(0));
        tensor.dispose();
      }
  });
});

describeOnNullGpu("an instance that is disposed while its device is opened anew", () => {
  test.each(["webgpu", "auto"] as const)("(%s) lets go of the new device, and the call rejects", async (backend) => {
    const opened: GPUDevice[] = [];
    let admit!: () => void;
    let admitted = Promise.resolve();
    const slow = {
      requestAdapter: async () => {
        await admitted;
        const adapter = (await nullGpu!.requestAdapter())!;
        return new Proxy(adapter, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name, target);
            if (name !== "requestDevice") return value;
            return async (descriptor: GPUDeviceDescriptor) => {
              const device = await target.requestDevice(descriptor);
              opened.push(device);
              return device;
            };
          },
        });
      },
    };
    const hw = await createAttention({ backend, gpu: slow, threads: 1 });
    const call = () => hw.scaledDotProductAttention(x, x, x, { location: "gpu" });
    (await call()).output.dispose();
    opened[0]!.destroy();
    await opened[0]!.lost;

    admitted = new Promise((resolve) => (admit = resolve));
    const reason = reasonOf(call());
    await new Promise((resolve) => setTimeout(resolve, 10));
    hw.dispose();
    admit();
    expect(DisposedError.is(await reason)).toBe(true);
    expect(opened).toHaveLength(2);
    expect((await opened[1]!.lost).reason).toBe("destroyed");
  });
});

describeOnNullGpu("an instance that nobody holds", () => {
  test("lives as long as a result on the GPU and a call that runs, and ends its device then", async () => {
    expect(await runProgram("droppedOnGpu")).toEqual({ read: "given", saved: "given", lost: 2 });
  });
});

describeOnNullGpu("errors that the caller caught", () => {
  test("leave no rejection behind that would end a process", async () => {
    expect(await runProgram("caughtGpuErrors")).toEqual({
      caught: { lost: "DeviceLostError", "foreign, and misplaced": "UnsupportedError", fake: "OptionError" },
      unhandled: [],
    });
  });
});

describe("lists as long as a caller makes them", () => {
  const MANY = 150_000;
  const many = { data: new Float32Array(MANY * 4), shape: [MANY, 1, 1, 4] };
  const form = { batchSize: MANY, numKvHeads: 1, headDim: 4, capacity: 1 };
  const one = { inputDim: 4, numHeads: 1, weights: { Wq: square(), Wk: square(), Wv: square(), Wo: square() } };

  const use = async (hw: Attention) => {
    const cache = await hw.kvCache(form);
    await cache.append(many, many);
    await cache.attend(many, { causal: true });
    const [length, slice] = [cache.length, await cache.slice(0, 1)];
    const bytes = await cache.save();
    await cache.rewind(0);
    const layer = await hw.multiHeadAttention(one);
    const input = { data: many.data, shape: [MANY, 1, 4] };
    await layer.forward(input, { cache });
    await hw.scaledDotProductAttention(many, many, many);
    expect([length, slice.length, cache.length, bytes.length > MANY]).toEqual([1, 1, 1, true]);
    for (const each of [cache, slice, layer, hw]) each.dispose();
  };

  test("150,000 batches do not overflow the stack of the wasm engine", async () => {
    await use(await createAttention({ backend: "wasm", threads: 1 }));
  }, 300_000);

  describeOnNullGpu("on WebGPU", () => {
    test("150,000 batches do not overflow the stack", async () => {
      await use(await createAttention({ backend: "webgpu", gpu: nullGpu! }));
    }, 300_000);

    test("nor do 150,000 positions of a layer", async () => {
      const hw = await createAttention({ backend: "webgpu", gpu: nullGpu! });
      const layer = await hw.multiHeadAttention({ ...one, position: { kind: "rotary" } });
      const { output } = await layer.forward(
        { data: many.data, shape: [1, MANY, 4] },
        { window: { left: 1, right: 1 } },
      );
      expect(output.shape).toEqual([1, MANY, 4]);
      hw.dispose();
    }, 300_000);
  });
});

function square(): Tensor<"float32"> {
  return randomTensor(5, [4, 4]);
}
