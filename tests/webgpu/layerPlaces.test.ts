import { expect, test } from "@jest/globals";
import {
  createAttention,
  OptionError,
  tensor,
  UnsupportedError,
  type Attention,
  type GpuTensor,
  type LayerOptions,
} from "headwise";

import { bits, float32Of } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { describeOnGpu, onSharedDevice, openTestDevice } from "./gpu.js";
import { weight } from "./layerWeights.js";
import { thrown } from "../web/thrownBy.js";

const STORAGE = 0x80;
const COPY_SRC = 0x4;
const COPY_DST = 0x8;

const withoutOutput = { Wq: weight(1, 24, 24), Wk: weight(2, 24, 24), Wv: weight(3, 24, 24) };
const weights = { ...withoutOutput, Wo: weight(4, 24, 24), bo: randomTensor(5, [24]) };
const x = randomTensor(6, [2, 5, 24]);
const context = randomTensor(7, [2, 9, 24]);

describeOnGpu("layers and tensors on the GPU", () => {
  let device: GPUDevice;
  let hw: Attention;
  onSharedDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  const upload = (
    { data, shape }: { readonly data: Float32Array; readonly shape: readonly number[] },
    offset = 0,
  ): GpuTensor<"float32"> => {
    const buffer = device.createBuffer({
      size: offset + data.byteLength,
      usage: STORAGE | COPY_SRC | COPY_DST,
    });
    device.queue.writeBuffer(buffer, offset, data as Float32Array<ArrayBuffer>);
    return { buffer, offset, shape, dtype: "float32" };
  };

  const forms: [string, Partial<LayerOptions>][] = [
    ["a plain layer", {}],
    ["a layer of columns", { layout: "BES" }],
    ["a rotary layer with a norm", { position: { kind: "rotary" }, qkNorm: { kind: "rms" } }],
    ["sinusoidal positions", { position: { kind: "sinusoidal" } }],
    ["no output projection", { outputProjection: false, weights: withoutOutput }],
    ["no output projection, in columns", { outputProjection: false, weights: withoutOutput, layout: "BES" }],
  ];

  test.each(forms)("%s takes inputs on the GPU, at any offset, and gives the bits of arrays", async (_, form) => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, ...form });
    const turned = ({ data, shape: [b, s, e] }: typeof x) => tensor(data, form.layout ? [b!, e!, s!] : [b!, s!, e!]);
    const [input, keys, values] = [x, context, randomTensor(8, [2, 9, 24])].map(turned) as [
      typeof x,
      typeof x,
      typeof x,
    ];
    const mask = {
      data: Uint8Array.from({ length: 45 }, (_, n) => Number(n % 7 !== 3)),
      shape: [5, 9],
      dtype: "bool",
    } as const;
    const bias = randomTensor(9, [3, 5, 9]);
    const returns = { lse: true, probs: true } as const;
    const expected = await layer.forward(input, { key: keys, value: values, mask, bias, returns });
    for (const offset of [0, 20, 256]) {
      const given = { key: upload(keys, offset), value: upload(values), mask, bias: upload(bias, offset), returns };
      expect(bits(await layer.forward(upload(input, offset), given))).toEqual(bits(expected));
    }
    const there = await layer.forward(upload(input), {
      key: keys,
      value: values,
      mask,
      bias,
      returns,
      location: "gpu",
    });
    expect(there.output.shape).toEqual(expected.output.shape);
    expect(await there.output.data()).toEqual(expected.output.data);
    expect(await there.lse.data()).toEqual(expected.lse.data);
    expect(await there.probs.data()).toEqual(expected.probs.data);
    for (const result of [there.output, there.lse, there.probs]) result.dispose();
  });

  test("a result on the GPU is the input of the next layer", async () => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights });
    const onCpu = await layer.forward((await layer.forward(x)).output);
    const first = await layer.forward(x, { location: "gpu" });
    const { output } = await layer.forward(first.output);
    expect(output.data).toEqual(onCpu.output.data);
    first.output.dispose();
  });

  test("float16 stays float16 on the GPU", async () => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights });
    const halves = { data: new Uint16Array(2 * 5 * 24).fill(0x3800), shape: [2, 5, 24] };
    const expected = await layer.forward(halves);
    using there = await hw.gpu!.upload({ ...halves, dtype: "float16" });
    const { output } = await layer.forward(there, { location: "gpu" });
    expect([output.dtype, await output.data()]).toEqual(["float16", expected.output.data]);
    output.dispose();
  });

  test.each(forms)("%s writes into a tensor on the GPU", async (_, form) => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, ...form });
    const input = form.layout ? tensor(x.data, [2, 24, 5]) : x;
    const expected = await layer.forward(input);
    const into = upload({ data: new Float32Array(x.data.length), shape: input.shape });
    const written = await layer.forward(input, { into, location: "gpu" });
    expect(written.output).toBe(into);
    expect((await hw.gpu!.download(into)).data).toEqual(expected.output.data);
  });

  test("a JavaScript `into` is refused where results stay on the GPU", async () => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights });
    const reason = await thrown(layer.forward(x, { location: "gpu", into: tensor(new Float32Array(240), [2, 5, 24]) }));
    expect(OptionError.is(reason)).toBe(true);
    expect(String(reason)).toMatch(/layer\.forward: into must be a GPU tensor/);
    expect((await layer.forward(x)).output.shape).toEqual([2, 5, 24]);
  });

  test("a cache takes tokens from the GPU, and results stay there", async () => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, position: { kind: "rotary" } });
    const whole = await layer.forward(x, { causal: true });
    using cache = await layer.kvCache({ batchSize: 2 });
    const token = (s: number) =>
      tensor(
        Float32Array.from({ length: 48 }, (_, n) => x.data[(Math.floor(n / 24) * 5 + s) * 24 + (n % 24)]!),
        [2, 1, 24],
      );
    for (let s = 0; s < 5; ++s) {
      const { output } = await layer.forward(upload(token(s)), { cache, causal: true, location: "gpu" });
      const data = (await output.data()) as Float32Array;
      data.forEach((y, n) =>
        expect(y).toBeCloseTo(float32Of(whole.output)[(Math.floor(n / 24) * 5 + s) * 24 + (n % 24)]!, 5),
      );
      output.dispose();
    }
    expect(cache.lengths).toEqual([5, 5]);
  });

  test("weights and x go to the GPU as they lie", async () => {
    const { queue } = device;
    const write = queue.writeBuffer.bind(queue);
    const written: number[] = [];
    queue.writeBuffer = (...args: Parameters<GPUQueue["writeBuffer"]>) => {
      written.push(args[4] ?? (args[2] as ArrayBufferView).byteLength);
      return write(...args);
    };
    try {
      const halves = { data: new Uint16Array(195 * 65), shape: [195, 65] };
      using layer = await hw.multiHeadAttention({
        inputDim: 65,
        numHeads: 1,
        outputProjection: false,
        weights: { in_proj_weight: halves },
      });
      expect(written.filter((bytes) => bytes > 4000)).toEqual([2 * 195 * 65 - 2]); // whole words, and two bytes more
      written.length = 0;
      await layer.forward(randomTensor(1, [1, 31, 65]));
      expect(written.filter((bytes) => bytes > 4000)).toEqual([4 * 31 * 65]);
    } finally {
      queue.writeBuffer = write;
    }
  });

  test.each(["float32", "float16"] as const)("%s weights may be larger than a binding of the device", async (dtype) => {
    const small = await openTestDevice();
    const limits = new Proxy(small.limits, {
      get: (target, name) =>
        name === "maxStorageBufferBindingSize" ? 8192 : (Reflect.get(target, name, target) as number),
    });
    Object.defineProperty(small, "limits", { value: limits });
    const limited = await createAttention({ backend: "webgpu", device: small });
    const numbers = weight(1, 32, 288).data;
    const data = dtype === "float32" ? numbers : Uint16Array.from(numbers, (_, n) => 0x3400 + (n % 512));
    for (const weights of [
      { Wqkv: { data: data.slice(0, 32 * 96), shape: [32, 96], dtype } },
      { in_proj_weight: { data: data.slice(0, 32 * 96), shape: [96, 32], dtype } },
    ] as LayerOptions["weights"][]) {
      const options: LayerOptions = {
        inputDim: 32,
        numHeads: 2,
        outputProjection: false,
        weights,
        position: { kind: "rotary" },
      };
      using layer = await limited.multiHeadAttention(options);
      using whole = await hw.multiHeadAttention(options);
      const tokens = randomTensor(2, [1, 20, 32]);
      const expected = await whole.forward(tokens);
      expect((await layer.forward(tokens)).output.data).toEqual(expected.output.data);
      const reason = await thrown(layer.forward(randomTensor(2, [1, 70, 32])));
      expect(UnsupportedError.is(reason)).toBe(true);
      expect(String(reason)).toMatch(
        /layer\.forward: query needs a buffer of 17920 bytes, over the device's maxStorage/,
      );
    }
    limited.dispose();
    small.destroy();
  });

  test("tables of positions are made again only for other positions", async () => {
    using layer = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, position: { kind: "rotary" } });
    using other = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, position: { kind: "rotary" } });
    const long = randomTensor(3, [1, 80, 24]);
    const offsets = [0, 0, 7, 0, 7, 7];
    for (const queryOffset of offsets) {
      using fresh = await hw.multiHeadAttention({ inputDim: 24, numHeads: 3, weights, position: { kind: "rotary" } });
      const expected = await fresh.forward(long, { queryOffset });
      expect(bits(await layer.forward(long, { queryOffset }))).toEqual(bits(expected));
      expect(bits(await other.forward(long, { queryOffset }))).toEqual(bits(expected));
    }
  });

  test("a layer on wasm refuses tensors on the GPU and results there", async () => {
    const wasm = await createAttention({ backend: "wasm", threads: 1 });
    const layer = await wasm.multiHeadAttention({ inputDim: 24, numHeads: 3, weights });
    for (const call of [
      layer.forward(x, { location: "gpu" }),
      layer.forward(upload(x)),
      layer.forward(x, { key: upload(context) }),
    ])
      expect(UnsupportedError.is(await thrown(call))).toBe(true);
    expect((await layer.forward(x)).output.shape).toEqual([2, 5, 24]);
    wasm.dispose();
  });
});
