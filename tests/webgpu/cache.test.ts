import { expect, test } from "@jest/globals";
import { OptionError, ShapeError, UnsupportedError, type Attention, type KvCache, type KvCacheOptions } from "headwise";

import { crc32 } from "../../web/src/webgpu/cache/crc32.js";
import { expectCachesToBeLists } from "../web/cacheSteps.js";
import { cacheUses } from "../web/cacheUse.js";
import { differences, float32Of, valuesOf } from "../web/close.js";
import { runsOf } from "../web/depth.js";
import { randomTensor } from "../web/randomTensor.js";
import { bothEngines, describeOnGpu } from "./gpu.js";

type Floats = ReturnType<typeof randomTensor>;

const RUNS = Math.ceil(runsOf(60) / 3);
/** The largest difference between two engines, as a share of the largest number. */
const SHARE = 5e-6;
const [B, HKV, HQ, D, DV] = [2, 2, 4, 10, 6];
const keys = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, D]);
const values = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, DV]);
const queries = (seed: number, length: number) => randomTensor(seed, [B, HQ, length, D]);

describeOnGpu("caches on WebGPU", () => {
  const engines = bothEngines();

  const form: KvCacheOptions = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV };

  /** Does the same with a cache on each engine, and compares the results, which are lists of tensors. */
  const agree = async (options: KvCacheOptions, use: (cache: KvCache) => Promise<Pick<Floats, "data">[]>) => {
    const run = async (hw: Attention) => {
      const cache = await hw.kvCache(options);
      const results = await use(cache);
      const state = { length: cache.length, lengths: cache.lengths, appended: cache.appended };
      cache.dispose();
      return { results, state };
    };
    const [actual, expected] = [await run(engines.onGpu), await run(engines.onCpu)];
    expect(actual.state).toEqual(expected.state);
    expected.results.forEach((tensor, n) => {
      const numbers = Float64Array.from(valuesOf(tensor));
      const tolerance = new Float64Array(numbers.length).fill(SHARE * Math.max(...numbers.map(Math.abs)));
      expect([n, differences(actual.results[n], { values: numbers, tolerance })]).toEqual([n, []]);
    });
  };
  const looks = { lse: true, probs: true, scores: "raw" } as const;
  const outputs = async (cache: KvCache, length: number, options: Parameters<KvCache["attend"]>[1] = {}) => {
    const { output, lse, probs, scores } = await cache.attend(queries(9, length), { ...options, returns: looks });
    return [output, lse, probs, scores] as Floats[];
  };

  test.each(Object.entries(cacheUses))("%s", (_what, use) => use(engines.onGpu));

  test("keyLengths beyond the tokens of their batch are refused by one sentence, on both engines", async () => {
    const tokens = randomTensor(1, [2, 1, 5, 4]);
    for (const hw of [engines.onGpu, engines.onCpu]) {
      using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 1, headDim: 4 });
      await cache.append(tokens, tokens, { lengths: [5, 3] });
      await expect(cache.attend(randomTensor(2, [2, 1, 1, 4]), { keyLengths: [5, 4] })).rejects.toThrow(
        "cache.attend: keyLengths[1] must be an integer from 0 to 3, got 4",
      );
    }
  });

  test("a prompt, then token by token over its first capacity, as wasm", async () => {
    await agree(form, async (cache) => {
      await cache.append(keys(1, 60), values(2, 60));
      const results = await outputs(cache, 5, { causal: true });
      for (let step = 0; step < 8; ++step) {
        await cache.append(keys(10 + step, 1), values(30 + step, 1));
        results.push(...(await outputs(cache, 1, { window: { left: 20 } })));
      }
      return results;
    });
  });

  test("queries of a padded append, as wasm", async () => {
    await agree(form, async (cache) => {
      await cache.append(keys(1, 20), values(2, 20));
      await cache.append(keys(3, 3), values(4, 3), { lengths: [3, 1] });
      return outputs(cache, 3, { causal: true });
    });
  });

  test("batches of different lengths, keyLengths and an empty cache, as wasm", async () => {
    await agree(form, async (cache) => {
      const empty = await outputs(cache, 2);
      await cache.append(keys(1, 7), values(2, 7), { lengths: [7, 2] });
      await cache.append(keys(3, 4), values(4, 4), { lengths: [1, 4] });
      return [
        ...empty,
        ...(await outputs(cache, 3, { causal: true })),
        ...(await outputs(cache, 2, { keyLengths: [5, 1] })),
      ];
    });
  });

  test("rotary keys and queries, half-precision rows and another layout, as wasm", async () => {
    await agree({ ...form, rotary: { base: 300, rotaryDim: 6 } }, async (cache) => {
      await cache.append(randomTensor(1, [B, 9, HKV, D]), randomTensor(2, [B, 9, HKV, DV]), { layout: "BSHD" });
      await cache.append(keys(3, 2), values(4, 2));
      const { output } = await cache.attend(randomTensor(5, [B, 3, HQ, D]), { layout: "BSHD", causal: true });
      return [output, ...(await outputs(cache, 2))];
    });
  });

  test("rewinding, forking and slicing, as wasm", async () => {
    await agree(form, async (cache) => {
      await cache.append(keys(1, 20), values(2, 20));
      const fork = await cache.fork();
      const part = await cache.slice(3, 11);
      await cache.rewind([12, 5]);
      await cache.append(keys(3, 2), values(4, 2));
      await fork.append(keys(5, 70), values(6, 70));
      const results = [
        ...(await outputs(cache, 2)),
        ...(await outputs(fork, 2)),
        ...(await outputs(part, 2, { causal: true })),
      ];
      fork.dispose();
      part.dispose();
      return results;
    });
  });

  const kinds: [string, KvCacheOptions][] = [
    ["float16", { ...form, dtype: "float16" }],
    ["int8", { ...form, dtype: "int8" }],
    ["a ring", { ...form, ring: { keepFirst: 3, window: 20 } }],
    ["an int8 ring that turns", { ...form, dtype: "int8", ring: { window: 17 }, rotary: { base: 300, rotaryDim: 6 } }],
    ["a float16 ring that turns", { ...form, dtype: "float16", ring: { keepFirst: 2, window: 70 }, rotary: {} }],
  ];

  test.each(kinds)("%s: appending, looking back, rewinding and slicing, as wasm", async (_, options) => {
    await agree(options, async (cache) => {
      const results: Floats[] = [];
      for (const [step, length] of [5, 30, 1, 1, 60, 1].entries()) {
        await cache.append(keys(10 + step, length), values(30 + step, length), { lengths: [length, length >> 1] });
        results.push(...(await outputs(cache, 2, { causal: true, window: { left: 14 } })));
      }
      const visible = { window: { left: 12, right: 3 }, alibiSlopes: [0.5, 0.25, 0.125, 0.0625], excludeSelf: true };
      results.push(...(await outputs(cache, 3, visible)));
      // A ring has dropped the tokens before such queries, so only one without rules on positions may ask.
      const { alibiSlopes } = visible;
      for (const queryOffset of [40, 19, 2, 0])
        results.push(
          ...(await outputs(cache, 4, options.ring ? { alibiSlopes, queryOffset } : { causal: true, queryOffset })),
        );
      for (const far of [2 ** 31 - 1, 2 ** 30, ...(options.ring ? [] : [-(2 ** 31), -(2 ** 29) - 1])]) {
        const window = { left: Math.max(far - 40, 0), right: Math.min(Math.max(45 - far, 0), 2 ** 31 - 1) };
        results.push(...(await outputs(cache, 3, { queryOffset: far, window })));
      }
      const part = await cache.slice(1, 9);
      await part.append(keys(50, 3), values(51, 3));
      results.push(...(await outputs(part, 3, { causal: true })));
      part.dispose();
      const fork = await cache.fork();
      await cache.rewind(options.ring?.keepFirst ?? 0);
      await cache.append(keys(60, 2), values(61, 2));
      results.push(
        ...(await outputs(cache, 2)),
        ...(await outputs(fork, 2, { emptyRows: "uniform", queryOffset: -9 })),
      );
      fork.dispose();
      return results;
    });
  });

  test("caches do what lists of tokens would do, whatever the order of append, attend, rewind, select, keep, fork, slice and save", () =>
    expectCachesToBeLists(engines.onGpu, RUNS));

  test("halves in, and columns, are stored as wasm stores them, bit for bit", async () => {
    for (const dtype of ["float32", "float16", "int8"] as const) {
      const saved = async (hw: Attention) => {
        const cache = await hw.kvCache({ ...form, dtype, ring: { keepFirst: 1, window: 9 } });
        const halves = (tensor: Floats) => ({
          shape: tensor.shape,
          data: Uint16Array.from(tensor.data, (_, k) => (k * 37) % 0x7c00),
        });
        await cache.append(halves(keys(1, 6)), halves(values(2, 6)));
        await cache.append(randomTensor(3, [B, HKV * D, 7]), randomTensor(4, [B, HKV * DV, 7]), { layout: "BES" });
        const bytes = await cache.save();
        cache.dispose();
        return Buffer.from(bytes).toString("base64");
      };
      expect([dtype, await saved(engines.onGpu)]).toEqual([dtype, await saved(engines.onCpu)]);
    }
  });

  test.each([
    ...kinds,
    ["a capacity and scaled angles", { ...form, capacity: 99, rotary: { scaling: { kind: "yarn", factor: 4, originalLength: 50, truncate: false } } }],
    ["no batch at all", { ...form, batchSize: 0 }],
  ] as [string, KvCacheOptions][])("%s: what one engine saves the other loads, and saves again byte for byte", async (_, options) => {
    for (const [from, to] of [[engines.onCpu, engines.onGpu], [engines.onGpu, engines.onCpu], [engines.onGpu, engines.onGpu]] as const) {
      const cache = await from.kvCache(options);
      const batch = (tensor: Floats) => (options.batchSize === 0 ? { data: new Float32Array(0), shape: [0, ...tensor.shape.slice(1)] } : tensor);
      await cache.append(batch(keys(1, 33)), batch(values(2, 33)));
      const bytes = await cache.save();
      const copy = await to.kvCache({ from: bytes });
      for (const name of ["batchSize", "numKvHeads", "headDim", "valueDim", "dtype", "capacity", "ring", "appended"] as const)
        expect(copy[name]).toEqual(cache[name]);
      expect(Buffer.compare(await copy.save(), bytes)).toBe(0);
      await copy.append(batch(keys(3, 2)), batch(values(4, 2)));
      expect(copy.appended).toEqual(cache.appended.map((total) => total + 2));
      cache.dispose();
      copy.dispose();
    }
  }); // oxfmt-ignore

  test("tensors on the GPU are appended and asked with, and results stay there", async () => {
    const cache = await engines.onGpu.kvCache({ ...form, valueDim: D, dtype: "float16" });
    const tokens = keys(1, 9);
    const { output: placed } = await engines.onGpu.scaledDotProductAttention(tokens, tokens, tokens, {
      location: "gpu",
    });
    await cache.append(placed, placed);
    const { output: asked } = await engines.onGpu.scaledDotProductAttention(queries(2, 3), tokens, tokens, {
      location: "gpu",
    });
    const left = await cache.attend(asked, { location: "gpu", causal: true, returns: { lse: true } });

    const again = await engines.onGpu.kvCache({ ...form, valueDim: D, dtype: "float16" });
    const tensor = { shape: placed.shape, data: (await placed.data()) as Float32Array };
    await again.append(tensor, tensor);
    const question = { shape: asked.shape, data: (await asked.data()) as Float32Array };
    const read = await again.attend(question, { causal: true, returns: { lse: true } });
    expect(await left.output.data()).toEqual(read.output.data);
    expect(await left.lse.data()).toEqual(read.lse.data);
    for (const each of [placed, asked, left.output, left.lse, cache, again]) each.dispose();
  });

  test("a row that is not finite touches no other, whatever the dtype", async () => {
    for (const dtype of ["float32", "float16", "int8"] as const) {
      const run = async (x: number) => {
        const cache = await engines.onGpu.kvCache({ ...form, dtype });
        const poisoned = (tensor: Floats) => {
          tensor.data.fill(x, 4 * tensor.shape[3]!, 5 * tensor.shape[3]!);
          return tensor;
        };
        await cache.append(poisoned(keys(1, 6)), poisoned(values(2, 6)));
        const { output, lse } = await cache.attend(queries(3, 6), { causal: true, returns: { lse: true } });
        cache.dispose();
        return { output: float32Of(output), lse: lse.data };
      };
      const [clean, poisoned] = [await run(0.5), await run(NaN)];
      expect([...poisoned.output.subarray(0, 4 * DV)]).toEqual([...clean.output.subarray(0, 4 * DV)]);
      expect([...poisoned.lse.subarray(0, 4)]).toEqual([...clean.lse.subarray(0, 4)]);
      expect(poisoned.output.subarray(4 * DV, 6 * DV).every(Number.isNaN)).toBe(true);
    }
  });

  test("bytes that are damaged, cut short or foreign are refused as wasm refuses them", async () => {
    const cache = await engines.onGpu.kvCache({ ...form, rotary: {} });
    await cache.append(keys(1, 3), values(2, 3));
    const bytes = await cache.save();
    cache.dispose();
    const changed = (at: number, value: number, length = bytes.length) => {
      const copy = bytes.slice(0, length);
      if (at < length) copy[at] = value;
      return copy;
    };
    const signed = (copy: Uint8Array) => {
      new DataView(copy.buffer).setUint32(copy.length - 4, crc32(copy.subarray(0, -4)), true);
      return copy;
    };
    const bad = [
      changed(bytes.length >> 1, 1),
      bytes.slice(0, -1),
      bytes.slice(0, 90),
      new Uint8Array(0),
      new Uint8Array(1000),
      changed(8, 9),
      signed(changed(16, 3)), // dtype
      signed(changed(24, 200)), // batch size
      signed(changed(24, 1)),
      signed(changed(88, 3)), // rotary dim
      signed(bytes.slice(0, 92)), // ends within the angles
      signed(changed(208, 4)), // tokens
      signed(changed(215, 255)), // negative tokens
    ];
    for (const [n, each] of bad.entries()) {
      const [actual, expected] = [
        await refusal(engines.onGpu.kvCache({ from: each })),
        await refusal(engines.onCpu.kvCache({ from: each })),
      ];
      expect([n, OptionError.is(actual), (actual as OptionError).code]).toEqual([n, true, "CORRUPT_DATA"]);
      expect([n, (expected as OptionError).code]).toEqual([n, "CORRUPT_DATA"]);
    }
  });

  test("empty caches of any width are loaded as wasm loads them", async () => {
    const empty = await engines.onCpu.kvCache({ ...form, rotary: {} });
    const bytes = await empty.save();
    empty.dispose();
    const numbers = new DataView(bytes.buffer);
    for (const [at, value] of [
      [32, 2n ** 20n], // numKvHeads
      [40, 2n ** 21n], // headDim
      [48, 2n ** 20n], // valueDim
    ] as const)
      numbers.setBigInt64(at, value, true);
    numbers.setBigInt64(88, 2n, true); // rotaryDim
    numbers.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
    for (const hw of [engines.onCpu, engines.onGpu]) {
      const cache = await hw.kvCache({ from: bytes });
      expect([cache.headDim, cache.length]).toEqual([2 ** 21, 0]);
      expect(Buffer.compare(await cache.save(), bytes)).toBe(0);
      cache.dispose();
    }
  });

  test.each<[string, KvCacheOptions]>([
    ["plain", form],
    ["rotary, in a ring", { ...form, rotary: {}, ring: { keepFirst: 2, window: 70 } }],
    ["int8", { ...form, dtype: "int8" }],
  ])("a %s cache that is recorded gives the bits of one that is called, also where it grows", async (_, options) => {
    const hw = engines.onGpu;
    const device = hw.gpu!.device as GPUDevice;
    const [called, recorded] = [await hw.kvCache(options), await hw.kvCache(options)];
    const tokens = [60, 3, 1, 40].map(
      (length, n) => [keys(n, length), values(n + 7, length), queries(n + 3, length)] as const,
    );
    const expected = [];
    // A ring that has dropped tokens shows few rows more than a token's own window.
    const looking = { causal: true, ...(options.ring && { window: { left: 30 } }), returns: looks } as const;
    for (const [key, value, query] of tokens) {
      await called.append(key, value);
      expected.push((await called.attend(query, looking)).output.data);
    }
    const encoder = device.createCommandEncoder();
    const results = [];
    const appends = [];
    for (const [key, value, query] of tokens) {
      appends.push(await recorded.append(key, value, { encoder }));
      results.push(await recorded.attend(query, { encoder, ...looking }));
    }
    expect(recorded.appended).toEqual(called.appended); // before the submit
    device.queue.submit([encoder.finish()]);
    expect(await Promise.all(results.map(({ output }) => output.data()))).toEqual(expected);
    expect(Buffer.compare(await recorded.save(), await called.save())).toBe(0);
    for (const each of [...appends, ...results, called, recorded]) each.dispose();
  });

  test("a recorded attend knows the lengths of a recorded append", async () => {
    const cache = await engines.onGpu.kvCache(form);
    const device = engines.onGpu.gpu!.device as GPUDevice;
    const encoder = device.createCommandEncoder();
    const append = await cache.append(keys(1, 4), values(2, 4), { encoder, lengths: [4, 2] });
    const attended = await cache.attend(queries(3, 4), { encoder, causal: true });
    device.queue.submit([encoder.finish()]);
    const expected = await cache.attend(queries(3, 4), { causal: true, queryLengths: [4, 2] });
    expect(await attended.output.data()).toEqual(expected.output.data);
    expect(cache.lengths).toEqual([4, 2]);
    for (const each of [append, attended, cache]) each.dispose();
  });

  test("a recorded append that is refused leaves the cache as it was", async () => {
    const cache = await engines.onGpu.kvCache({ ...form, capacity: 70 });
    await cache.append(keys(1, 60), values(2, 60));
    const before = await cache.save();
    const encoder = (engines.onGpu.gpu!.device as GPUDevice).createCommandEncoder();
    const refused = [
      cache.append(keys(1, 20), values(2, 20), { encoder }),
      cache.append(keys(1, 1), values(2, 1), { encoder: {} }),
      cache.append(keys(1, 10), values(2, 10), { encoder: { beginComputePass: () => undefined } }),
      cache.attend(queries(1, 1), { encoder, emptyRows: "throw" }),
    ];
    const messages = await Promise.all(refused.map(async (promise) => String(await refusal(promise))));
    expect(messages).toEqual([
      expect.stringMatching(/^ShapeError: cache.append: batch 0 holds 60 of at most 70 tokens/),
      expect.stringMatching(/^OptionError: cache.append: encoder must be a GPUCommandEncoder, got/),
      expect.stringMatching(/^OptionError: cache.append: encoder must be a GPUCommandEncoder of this/),
      expect.stringMatching(/^OptionError: cache.attend: emptyRows must not be "throw"/),
    ]);
    expect(Buffer.compare(await cache.save(), before)).toBe(0);
    const onCpu = await engines.onCpu.kvCache(form);
    const onWasm = await refusal(onCpu.append(keys(1, 1), values(2, 1), { encoder }));
    expect(UnsupportedError.is(onWasm) && onWasm.message).toMatch(
      /^cache.append: encoder needs WebGPU: the cache lies in the memory of WebAssembly/,
    );
    for (const each of [cache, onCpu]) each.dispose();
  });

  test("what does not fit is refused by name and leaves the cache as it was", async () => {
    const cache = await engines.onGpu.kvCache({ ...form, capacity: 5 });
    await cache.append(keys(1, 4), values(2, 4));
    expect(ShapeError.is(await refusal(cache.append(keys(1, 2), values(2, 2))))).toBe(true);
    expect(cache.lengths).toEqual([4, 4]);
    const ring = await engines.onGpu.kvCache({ ...form, ring: { keepFirst: 3, window: 6 } });
    await ring.append(keys(1, 20), values(2, 20));
    expect(String(await refusal(ring.rewind(19)))).toMatch(
      /batch 0 of a ring has dropped tokens that it would hold at length 19/,
    );
    expect(ring.appended).toEqual([20, 20]);
    const huge = await refusal(engines.onGpu.kvCache({ numKvHeads: 2 ** 16, headDim: 2 ** 12 }));
    expect(UnsupportedError.is(huge) && huge.message).toMatch(
      /the cache's keys needs a buffer of \d+ bytes, over the device's max/,
    );
    cache.dispose();
    ring.dispose();
  });
});

const refusal = (promise: Promise<unknown>) => promise.then(() => undefined, (reason: unknown) => reason); // oxfmt-ignore
