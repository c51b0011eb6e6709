import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  createAttention,
  DeviceLostError,
  DisposedError,
  HeadwiseError,
  OptionError,
  UnsupportedError,
  type Attention,
} from "headwise";
import { createAttention as createOnGpuAlone } from "headwise/webgpu";

import { float32Of } from "../web/close.js";
import { describeOnGpu, gpu, openTestDevice } from "./gpu.js";
import { thrown } from "../web/thrownBy.js";

const x = { data: Float32Array.from({ length: 4 * 8 }, (_, k) => Math.sin(k)), shape: [4, 8] };
/** With as many keys as one row sees, the first row of a causal call is the first value. */
const firstRow = [...x.data.subarray(0, 8)];

/** The GPU, and the devices that it has given. */
function watchedGpu() {
  const devices: GPUDevice[] = [];
  const watched = {
    requestAdapter: async (options?: GPURequestAdapterOptions) => {
      const adapter = (await gpu!.requestAdapter(options))!;
      return new Proxy(adapter, {
        get(target, name) {
          if (name !== "requestDevice") return Reflect.get(target, name, target) as unknown;
          return async (descriptor: GPUDeviceDescriptor) => {
            const opened = await target.requestDevice(descriptor);
            devices.push(opened);
            return opened;
          };
        },
      });
    },
  };
  return { devices, watched };
}

describeOnGpu("faults of the GPU", () => {
  const instances: Attention[] = [];
  const open = async (options: Parameters<typeof createAttention>[0]) => {
    const hw = await createAttention(options);
    instances.push(hw);
    return hw;
  };
  let device: GPUDevice;
  let unexpected: unknown[];
  beforeEach(async () => {
    device = await openTestDevice();
    unexpected = [];
    device.addEventListener("uncapturederror", (event) => unexpected.push(event.error.message));
  });
  afterEach(() => {
    for (const hw of instances.splice(0)) hw.dispose();
    device.destroy();
    expect(unexpected).toEqual([]);
  });

  test("a device of the caller's is used and outlives the instance", async () => {
    const hw = await open({ backend: "webgpu", device });
    await hw.scaledDotProductAttention(x, x, x);
    hw.dispose();
    const buffer = device.createBuffer({ size: 16, usage: 0x8 });
    await device.queue.onSubmittedWorkDone();
    buffer.destroy();
    expect(await Promise.race([device.lost, Promise.resolve("alive")])).toBe("alive");
  });

  test("a lost device rejects the pending call and, being the caller's, every later one", async () => {
    const hw = await open({ backend: "webgpu", device });
    await hw.scaledDotProductAttention(x, x, x);
    const pending = thrown(hw.scaledDotProductAttention(x, x, x));
    device.destroy();
    expect(DeviceLostError.is(await pending)).toBe(true);
    expect(DeviceLostError.is(await thrown(hw.scaledDotProductAttention(x, x, x)))).toBe(true);
  });

  test("a device of our own is replaced after a loss", async () => {
    const { devices, watched } = watchedGpu();
    const hw = await open({ backend: "webgpu", gpu: watched });
    await hw.scaledDotProductAttention(x, x, x);
    devices[0]!.destroy();
    await devices[0]!.lost;
    const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    expect([...float32Of(output).subarray(0, 8)]).toEqual(firstRow);
    expect(devices).toHaveLength(2);
  });

  test("a layer keeps the weights that it was made with, also on a device that replaces a lost one", async () => {
    const { devices, watched } = watchedGpu();
    const hw = await open({ backend: "webgpu", gpu: watched });
    const square = () => ({ data: x.data.map((value) => value), shape: [8, 4] });
    const weights = { Wq: square(), Wk: square(), Wv: square(), Wo: { data: square().data, shape: [4, 8] } };
    const table = { data: x.data.slice(), shape: [4, 8] };
    const layer = await hw.multiHeadAttention({
      ...{ inputDim: 8, modelDim: 4, outputDim: 8, numHeads: 1 },
      ...{ weights, position: { kind: "learned", table } },
    });
    const expected = [...float32Of((await layer.forward(x)).output)];
    for (const { data } of [...Object.values(weights), table]) data.fill(7);
    expect([...float32Of((await layer.forward(x)).output)]).toEqual(expected);
    devices[0]!.destroy();
    await devices[0]!.lost;
    expect([...float32Of((await layer.forward(x)).output)]).toEqual(expected);
    expect(devices).toHaveLength(2);
  });

  test("a call that runs when the instance is disposed rejects with DisposedError, as do later ones", async () => {
    const hw = await open({ backend: "webgpu", gpu: gpu! });
    const pending = thrown(hw.scaledDotProductAttention(x, x, x));
    hw.dispose();
    expect(DisposedError.is(await pending)).toBe(true);
    expect(DisposedError.is(await thrown(hw.scaledDotProductAttention(x, x, x)))).toBe(true);
  });

  test("what a limit forbids is refused by its name before any work, and the instance stays usable", async () => {
    const hw = await open({ backend: "webgpu", device });
    const many = { data: new Float32Array(8 * 8192), shape: [8192, 8] };
    const reason = await thrown(hw.scaledDotProductAttention(many, many, many, { returns: { probs: true } }));
    expect(UnsupportedError.is(reason)).toBe(true);
    expect((reason as Error).message).toMatch(
      /probs needs a buffer of 268435456 bytes, over the device's maxStorageBufferBindingSize/,
    );
    const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    expect([...float32Of(output).subarray(0, 8)]).toEqual(firstRow);
  });

  test("the entry without wasm computes the same, and refuses what it does not have by name", async () => {
    const hw = await createOnGpuAlone({ device });
    instances.push(hw);
    const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    expect([...float32Of(output).subarray(0, 8)]).toEqual(firstRow);
    expect(String(await thrown(createOnGpuAlone({ backend: "wasm" } as object)))).toMatch(/backend must be "webgpu"/);
  });

  test("auto computes on wasm, says why, and opens the GPU for what is to stay there", async () => {
    let opened = 0;
    const counted = {
      requestAdapter: (options?: GPURequestAdapterOptions) => {
        opened += 1;
        return gpu!.requestAdapter(options);
      },
    };
    const hw = await open({ gpu: counted });
    expect(hw.report.backend).toBe("wasm");
    expect(hw.report.reasons["webgpu"]).toMatch(/no call so far was large enough to gain from a GPU/);
    const onCpu = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    expect([...float32Of(onCpu.output).subarray(0, 8), opened]).toEqual([...firstRow, 0]);
    const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true, location: "gpu" });
    expect([...float32Of({ data: await output.data() }).subarray(0, 8), opened]).toEqual([...firstRow, 1]);
    output.dispose();
  });

  test("auto without a GPU says so when one is needed, and goes on", async () => {
    const hw = await open({ gpu: { requestAdapter: () => Promise.resolve(null) } });
    const reason = await thrown(hw.scaledDotProductAttention(x, x, x, { location: "gpu" }));
    expect(UnsupportedError.is(reason) && reason.message).toMatch(/no GPU adapter is available/);
    const { output } = await hw.scaledDotProductAttention(x, x, x, { causal: true });
    expect([...float32Of(output).subarray(0, 8)]).toEqual(firstRow);
  });

  test("what only looks like a device or an adapter is refused by name", async () => {
    const method = () => undefined;
    const looksRight = {
      createComputePipelineAsync: method,
      limits: { maxStorageBuffersPerShaderStage: 8 },
      features: new Set(),
      lost: new Promise(() => undefined),
    };
    const devices = [
      { createComputePipelineAsync: method },
      looksRight,
      { ...looksRight, pushErrorScope: method, lost: Promise.reject(new Error("not lost")) },
    ];
    for (const fake of devices) {
      const reason = await thrown(createAttention({ backend: "webgpu", device: fake }));
      expect(OptionError.is(reason) && reason.message).toMatch(
        /createAttention: device must be a GPUDevice, got an object/,
      );
    }
    const given = [{}, { limits: {}, features: new Set(), requestDevice: () => Promise.resolve({}) }];
    for (const adapter of given) {
      const gpu = { requestAdapter: () => Promise.resolve(adapter) };
      const reason = await thrown(createAttention({ backend: "webgpu", gpu }));
      expect(UnsupportedError.is(reason) && reason.message).toMatch(/the GPU adapter refused a device/);
    }
    const lost = await openTestDevice();
    lost.destroy();
    expect(DeviceLostError.is(await thrown(createAttention({ backend: "webgpu", device: lost })))).toBe(true);
  });

  test("another library's tensor is told as what it is, whatever the engine", async () => {
    // As in TensorFlow.js: `buffer` and `data` are methods.
    class Tensor {
      readonly shape = [4, 8];
      readonly dtype = "float32";
      data = () => Promise.resolve(x.data);
      buffer = () => Promise.resolve({});
    }
    for (const options of [{}, { backend: "wasm" }, { backend: "webgpu", device }] as const) {
      const hw = await open(options);
      const reason = await thrown(hw.scaledDotProductAttention(new Tensor(), x, x));
      expect(OptionError.is(reason) && reason.message).toMatch(/query\.data must be a .*, got a function/);
      expect((reason as OptionError).hint).toMatch(/\{ data: await x\.data\(\), shape: x\.shape \}/);
    }
    const hw = await open({});
    const reason = await thrown(
      hw.scaledDotProductAttention({ buffer: x.data.buffer, shape: [4, 8], dtype: "float32" } as never, x, x),
    );
    expect(OptionError.is(reason) && reason.message).toMatch(/query must be a tensor \{ data, shape \}, got an object/);
  });

  test.each<[string, () => Promise<null>]>([
    ["gives no adapter", () => Promise.resolve(null)],
    ["refuses one", () => Promise.reject(new DOMException("blocklisted"))],
    [
      "throws",
      () => {
        throw new TypeError("blocklisted");
      },
    ],
  ])("a GPU that %s is none, and the error says so", async (_, requestAdapter) => {
    const reason = await thrown(createAttention({ backend: "webgpu", gpu: { requestAdapter } }));
    expect(UnsupportedError.is(reason)).toBe(true);
    expect(HeadwiseError.is(reason) && reason.message).toMatch(/no GPU adapter is available/);
  });
});
