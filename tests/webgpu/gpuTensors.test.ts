import { expect, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  OptionError,
  ShapeError,
  UnsupportedError,
  type Attention,
  type GpuTensor,
  type Tensor,
} from "headwise";

import { float32Of } from "../web/close.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { resultProblems } from "../web/resultProblems.js";
import { describeOnGpu, onPlainDevice, openTestDevice } from "./gpu.js";
import { thrown } from "../web/thrownBy.js";

const STORAGE = 0x80;
const COPY_SRC = 0x4;
const COPY_DST = 0x8;

const SHAPE = [1, 2, 40, 16];
const numbers = (phase: number) => Float32Array.from({ length: 2 * 40 * 16 }, (_, k) => Math.sin(k * 0.37 + phase));
const [q, k, v] = [0, 1, 2].map((phase) => ({ data: numbers(phase), shape: SHAPE })) as [Cpu, Cpu, Cpu];
type Cpu = { readonly data: Float32Array; readonly shape: number[] };

describeOnGpu("tensors on the GPU", () => {
  let device: GPUDevice;
  let hw: Attention;
  onPlainDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  const upload = (
    { data, shape }: Cpu,
    offset = 0,
    usage = STORAGE | COPY_SRC | COPY_DST,
    on = device,
  ): GpuTensor<"float32"> => {
    const buffer = on.createBuffer({ size: offset + data.byteLength, usage });
    on.queue.writeBuffer(buffer, offset, data as Float32Array<ArrayBuffer>);
    return { buffer, offset, shape, dtype: "float32" };
  };

  test.each([0, 256, 20])("inputs at offset %d give the bits of inputs in JavaScript", async (offset) => {
    const expected = await hw.scaledDotProductAttention(q, k, v, { causal: true });
    const { output } = await hw.scaledDotProductAttention(upload(q, offset), upload(k, offset), upload(v), {
      causal: true,
    });
    expect(float32Of(output)).toEqual(float32Of(expected.output));
  });

  test('location "gpu" leaves every result there, and data() reads it', async () => {
    const returns = { lse: true, entropy: true, probs: true, topK: 2 };
    const result = await hw.scaledDotProductAttention(upload(q), k, v, { location: "gpu", returns });
    const read = {
      output: { data: await result.output.data() },
      lse: { data: await result.lse!.data() },
      entropy: { data: await result.entropy!.data() },
      probs: { data: await result.probs!.data() },
      topK: {
        values: { data: await result.topK.values.data() },
        indices: { data: await result.topK.indices.data() },
      },
    };
    expect(result.output.shape).toEqual(SHAPE);
    expect(resultProblems(read as never, returns, referenceAttention(q, k, v))).toEqual({});
  });

  test("a result on the GPU is an input of the next call", async () => {
    const first = await hw.scaledDotProductAttention(q, k, v, { location: "gpu" });
    const { output } = await hw.scaledDotProductAttention(first.output, k, v);
    const once = { data: await first.output.data(), shape: SHAPE };
    expect(resultProblems({ output }, {}, referenceAttention(once, k, v))).toEqual({});
  });

  test("a call without values gives the weights of the call with values", async () => {
    const options = { returns: { output: false, topK: 2, probs: true, lse: true } } as const;
    const without = await hw.scaledDotProductAttention(q, k, undefined, options);
    expect(without).toEqual(await hw.scaledDotProductAttention(q, k, v, options));
    expect(without).not.toHaveProperty("output");
  });

  test("a call with encoder is recorded without submitting, and the results are there after the caller's submit", async () => {
    const encoder = device.createCommandEncoder();
    const { output, lse } = await hw.scaledDotProductAttention(upload(q), upload(k), upload(v), {
      encoder,
      returns: { lse: true },
    });
    device.queue.submit([encoder.finish()]);
    const read = { output: { data: await output.data() }, lse: { data: await lse.data() } };
    expect(resultProblems(read as never, { lse: true }, referenceAttention(q, k, v))).toEqual({});
  });

  test("a recorded call keeps its numbers while other calls run before the submit", async () => {
    const encoder = device.createCommandEncoder();
    const { output } = await hw.scaledDotProductAttention(upload(q), upload(k), upload(v), { encoder });
    await hw.scaledDotProductAttention(v, q, k, { causal: true });
    device.queue.submit([encoder.finish()]);
    expect(resultProblems({ output: { data: await output.data() } } as never, {}, referenceAttention(q, k, v))).toEqual(
      {},
    );
  });

  test("into on the GPU is written", async () => {
    const into = upload({ data: new Float32Array(q.data.length), shape: SHAPE });
    await hw.scaledDotProductAttention(q, k, v, { into });
    const { output } = await hw.scaledDotProductAttention(into, k, v);
    const expected = await hw.scaledDotProductAttention((await hw.scaledDotProductAttention(q, k, v)).output, k, v);
    expect(float32Of(output)).toEqual(float32Of(expected.output));
  });

  const halves = { data: Uint16Array.from(q.data, (_, k) => 0x3800 + (k % 1000)), shape: SHAPE } as const; // 0.5 and above
  const onGpu = (data: Uint16Array | Float32Array): GpuTensor<"float32" | "float16"> => {
    const buffer = device.createBuffer({ size: data.byteLength, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(buffer, 0, data as Uint16Array<ArrayBuffer>);
    return { buffer, shape: SHAPE, dtype: data.BYTES_PER_ELEMENT === 2 ? "float16" : "float32" };
  };

  test.each([
    ["float32", q],
    ["float16", halves],
  ] as const)("rotaryEmbedding of a %s tensor on the GPU gives the bits of one in JavaScript", async (_, x) => {
    const expected = await hw.rotaryEmbedding(x, { positions: 3 });
    const read = await hw.rotaryEmbedding(onGpu(x.data), { positions: 3 });
    expect([read.dtype, (read as Tensor).data]).toEqual([expected.dtype, expected.data]);
    const kept = await hw.rotaryEmbedding(x, { positions: 3, location: "gpu" });
    expect([kept.dtype, await kept.data()]).toEqual([expected.dtype, expected.data]);
    kept.dispose();
  });

  test("rotaryEmbedding turns a tensor on the GPU in place", async () => {
    const expected = await hw.rotaryEmbedding(q, { base: 500 });
    const there = upload(q);
    expect(await hw.rotaryEmbedding(there, { base: 500, into: there })).toBe(there);
    expect((await hw.gpu!.download(there)).data).toEqual(expected.data);
  });

  test("mergeAttention of parts on the GPU gives the bits of parts in JavaScript", async () => {
    const rows = (from: number, to: number): Cpu => ({
      data: Float32Array.from({ length: 2 * (to - from) * 16 }, (_, n) => Math.cos(n + from)),
      shape: [1, 2, to - from, 16],
    });
    const returns = { lse: true } as const;
    const chunks = [rows(0, 25), rows(25, 40)] as const;
    const read = await Promise.all(chunks.map((part) => hw.scaledDotProductAttention(q, part, part, { returns })));
    const expected = await hw.mergeAttention(read);
    const options = { returns, location: "gpu" } as const;
    const kept = await Promise.all(chunks.map((part) => hw.scaledDotProductAttention(q, part, part, options)));
    expect(await hw.mergeAttention(kept)).toEqual(expected);
    const stays = await hw.mergeAttention([kept[0]!, read[1]!], { location: "gpu" });
    expect([await stays.output.data(), await stays.lse.data()]).toEqual([expected.output.data, expected.lse.data]);
    const into = upload({ data: new Float32Array(q.data.length), shape: SHAPE });
    await hw.mergeAttention(kept, { into });
    expect((await hw.gpu!.download(into)).data).toEqual(expected.output.data);
  });

  test("mergeAttention refuses parts on the GPU that were computed with sinks", async () => {
    const options = { returns: { lse: true }, sinks: [0, 0], location: "gpu" } as const;
    const part = await hw.scaledDotProductAttention(q, k, v, options);
    expect(String(await thrown(hw.mergeAttention([part])))).toMatch(/parts\[0\] was computed with sinks/);
  });

  test("a step of a cache with all tensors on the GPU gives the bits of append and attend in JavaScript", async () => {
    const [separate, together] = [
      await hw.kvCache({ numKvHeads: 2, headDim: 16 }),
      await hw.kvCache({ numKvHeads: 2, headDim: 16 }),
    ];
    const mask = { data: Uint8Array.from({ length: 40 }, (_, key) => Number(key % 3 > 0)), shape: [1, 1, 1, 40] };
    const bias = { data: numbers(5).slice(0, 40), shape: [40, 1] };
    await separate.append(k, v);
    const expected = await separate.attend(q, { mask, bias });
    const options = { mask: await hw.gpu!.upload(mask), bias: upload(bias), location: "gpu" } as const;
    const { output } = await together.step(upload(q), upload(k), upload(v), options);
    expect(await output.data()).toEqual(expected.output.data);
    const into = upload({ data: new Float32Array(q.data.length), shape: SHAPE });
    await together.attend(upload(q), { ...options, into });
    expect((await hw.gpu!.download(into)).data).toEqual(expected.output.data);
    expect(together.length).toBe(40);
    for (const each of [separate, together]) each.dispose();
  });

  test('a JavaScript `into` is refused where results stay on the GPU, by location "gpu" and by encode', async () => {
    const into = { data: new Float32Array(q.data.length), shape: SHAPE };
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 16 });
    await cache.append(k, v);
    const calls = [
      hw.scaledDotProductAttention(q, k, v, { location: "gpu", into }),
      cache.attend(q, { location: "gpu", into }),
      hw.scaledDotProductAttention(q, k, v, { encoder: device.createCommandEncoder(), into }),
    ];
    for (const call of calls) {
      const reason = await thrown(call);
      expect(OptionError.is(reason) && reason.message).toMatch(
        /^[\w.]+: into must be a GPU tensor \{ buffer, shape, dtype \} where results stay on the GPU, got a Float32Array/,
      );
    }
    expect(into.data.every((number) => number === 0)).toBe(true);
    cache.dispose();
  });

  test("a buffer that was destroyed, is mapped, or only looks like one is refused by name", async () => {
    const destroyed = upload(k);
    (destroyed.buffer as GPUBuffer).destroy();
    const usage = STORAGE | COPY_SRC | COPY_DST;
    const mapped = device.createBuffer({ size: 5120, usage, mappedAtCreation: true });
    const tensor = (buffer: object): GpuTensor<"float32"> => ({ buffer, shape: SHAPE, dtype: "float32" });
    const refusals: [GpuTensor<"float32">, RegExp][] = [
      [destroyed, /\w+\.buffer must be neither destroyed nor mapped/],
      [tensor(mapped), /\w+\.buffer must be unmapped, got mapState "mapped"/],
      [tensor({ usage, size: 5120 }), /\w+\.buffer must belong to this instance's device/],
      [tensor({ usage, size: "5120" }), /\w+\.buffer must be a GPUBuffer, got an object with usage, size/],
      [tensor(Object.create(Object.getPrototypeOf(mapped) as object) as object), /\w+\.buffer must be a GPUBuffer/],
    ];
    const cache = await hw.kvCache({ numKvHeads: 2, headDim: 16 });
    await cache.append(k, v);
    for (const [bad, message] of refusals) {
      const calls: Record<string, () => Promise<unknown>> = {
        query: () => hw.scaledDotProductAttention(bad, k, v),
        value: () => hw.scaledDotProductAttention(q, k, bad, { location: "gpu" }),
        into: () => hw.scaledDotProductAttention(q, k, v, { into: bad }),
        key: () => cache.append(bad, v),
        encoded: () => hw.scaledDotProductAttention(q, bad, v, { encoder: device.createCommandEncoder() }),
      };
      for (const [name, call] of Object.entries(calls)) {
        const reason = await thrown(call());
        expect([name, String(reason)]).toEqual([name, expect.stringMatching(message)]);
        expect([name, OptionError.is(reason)]).toEqual([name, true]);
      }
    }
    expect(cache.length).toBe(40);
    cache.dispose();
    mapped.destroy();
    const { output } = await hw.scaledDotProductAttention(q, k, v);
    expect(resultProblems({ output }, {}, referenceAttention(q, k, v))).toEqual({});
  });

  test("the option encoder refuses what is no encoder, or a finished one", async () => {
    const finished = device.createCommandEncoder();
    finished.finish();
    const half = { beginComputePass: () => undefined };
    const encoders: [unknown, RegExp][] = [
      [null, /encoder must be a GPUCommandEncoder, got null/],
      [5, /encoder must be a GPUCommandEncoder, got 5/],
      [{}, /encoder must be a GPUCommandEncoder, got an empty object/],
      [device, /encoder must be a GPUCommandEncoder/],
      [half, /encoder must be a GPUCommandEncoder of this instance's device that is not finished/],
      [finished, /encoder must be a GPUCommandEncoder of this instance's device that is not finished/],
    ];
    for (const [encoder, message] of encoders) {
      const reason = await thrown(hw.scaledDotProductAttention(q, k, v, { encoder: encoder as object }));
      expect(String(reason)).toMatch(message);
      expect(OptionError.is(reason)).toBe(true);
    }
  });

  test("what cannot be read is refused by name", async () => {
    const good = upload(q);
    const gone = (await hw.scaledDotProductAttention(q, k, v, { location: "gpu" })).output;
    gone.dispose();
    gone.dispose();
    expect(DisposedError.is(await thrown(gone.data()))).toBe(true);
    const foreignDevice = await openTestDevice();
    const foreign = upload(k, 0, STORAGE | COPY_DST, foreignDevice);
    const odd = device.createBuffer({ size: 5122, usage: STORAGE | COPY_DST });
    const refusals: [GpuTensor | Cpu, { is(value: unknown): boolean }, RegExp][] = [
      [gone, DisposedError, /key was disposed/],
      [foreign, OptionError, /key\.buffer must belong to this instance's device/],
      [{ ...good, dtype: "int32" }, OptionError, /key\.dtype must be float32 or float16, got "int32"/],
      [{ ...good, offset: 2 }, OptionError, /key\.offset must be a multiple of 4, got 2/],
      [{ ...good, offset: 256 }, ShapeError, /key must fit its buffer, got 5120 bytes at offset 256 of 5120/],
      [{ ...good, buffer: {} }, OptionError, /key\.buffer must be a GPUBuffer/],
      [upload(k, 0, COPY_DST), OptionError, /key\.buffer must have usage STORAGE/],
      [{ ...good, buffer: odd }, OptionError, /key\.buffer\.size must be a multiple of 4, got 5122/],
      [upload(k, 20, STORAGE | COPY_DST), UnsupportedError, /key\.offset must be a multiple of 256/],
    ];
    for (const [key, kind, message] of refusals) {
      const reason = await thrown(hw.scaledDotProductAttention(q, key as never, v));
      expect(String(reason)).toMatch(message);
      expect(kind.is(reason)).toBe(true);
    }
    foreignDevice.destroy();
    const { output } = await hw.scaledDotProductAttention(q, good, v);
    expect(resultProblems({ output }, {}, referenceAttention(q, q, v))).toEqual({});
  });

  test("backend auto computes rotaryEmbedding and mergeAttention on the GPU if a tensor lies or stays there", async () => {
    const auto = await createAttention({ threads: 1, device });
    const there = await auto.rotaryEmbedding(upload(q), { location: "gpu" });
    const onCpu = await auto.rotaryEmbedding(q);
    expect((await auto.gpu!.download(there as GpuTensor<"float32">)).shape).toEqual(onCpu.shape);
    expect(await there.data()).toEqual((await hw.rotaryEmbedding(q)).data);
    const returns = { lse: true } as const;
    const part = await auto.scaledDotProductAttention(there, k, v, { returns, location: "gpu" });
    const { lse } = await auto.mergeAttention([part]);
    expect(lse.data).toEqual(await part.lse.data());
    auto.dispose();
  });

  test("wasm refuses them, and says what can read them", async () => {
    const wasm = await createAttention({ backend: "wasm", threads: 1 });
    const reason = await thrown(wasm.scaledDotProductAttention(upload(q), k, v));
    wasm.dispose();
    expect(UnsupportedError.is(reason)).toBe(true);
    expect(String(reason)).toMatch(/query is a GPU tensor/);
  });
});
