import { expect } from "@jest/globals";
import type { Attention, KvCache, Tensor } from "headwise";

import { crc32 } from "../../web/src/webgpu/cache/crc32.js";
import { largestDifference } from "./close.js";
import { randomTensor } from "./randomTensor.js";

// int8 caches: scales by blocks of 32 numbers, and the mean of the keys that is subtracted before they are rounded. The
// same tests run on all engines.

type Floats = Tensor<"float32"> & { readonly data: Float32Array; readonly shape: number[] };
type Use = (hw: Attention) => Promise<void>;

const [D, T, CONSTANT] = [128, 256, 37];

/** Normal numbers times `size`. */
function normal(seed: number, shape: number[], size = 1): Floats {
  const uniform = randomTensor(seed, [2, ...shape]).data;
  const count = uniform.length / 2;
  const numberAt = (_: unknown, n: number) =>
    size * Math.sqrt(-2 * Math.log(1 - Math.abs(uniform[n]!))) * Math.cos(Math.PI * uniform[count + n]!);
  return { data: Float32Array.from({ length: count }, numberAt), shape };
}

/** Keys with `constant` added to one feature, as the bias of Qwen 2's key projection adds it. */
function keysWith(constant: number, shape: number[] = [1, 1, T, D]): Floats {
  const { data } = normal(5, shape, 2);
  return { data: data.map((x, n) => x + (n % shape.at(-1)! === CONSTANT ? constant : 0)), shape };
}

/** The keys as llama.cpp's q8_0 rounds them: one scale for every 32 numbers. */
function asQ8({ data, shape }: Floats): Floats {
  const rounded = data.slice();
  for (let first = 0; first < data.length; first += 32) {
    const scale = Math.max(...data.subarray(first, first + 32).map(Math.abs)) / 127;
    for (let n = first; n < first + 32; ++n) rounded[n] = Math.round(data[n]! / scale) * scale;
  }
  return { data: rounded, shape };
}

/** How much of the weight lies on other keys, on average over rows. */
function moved(weights: ArrayLike<number>, exact: ArrayLike<number>): number {
  const sum = Array.from(weights).reduce((all, x, n) => all + Math.abs(x - exact[n]!), 0);
  return (sum * T) / 2 / weights.length;
}

/** A file of version 1 with one token and two heads: a scale for each row, and no means. */
function version1(): Uint8Array {
  const [headDim, valueDim] = [40, 3];
  const header = [1, 2, 1, 2, headDim, valueDim, 0, 0, 0, 0, 1, 0];
  const side = (width: number, scale: number) => [
    ...Array.from({ length: width }, (_, d) => d - 5),
    ...new Uint8Array(new Float32Array([scale]).buffer),
  ];
  const head = [...side(headDim, 0.5), ...side(valueDim, 0.25)];
  const bytes = [0x89, 0x48, 0x57, 0x4b, 0x56, 0x0d, 0x0a, 0x1a];
  const numbers = new Uint8Array(BigInt64Array.from(header, BigInt).buffer);
  const content = Uint8Array.from([...bytes, ...numbers, ...head, ...head]);
  return Uint8Array.from([...content, ...new Uint8Array(Uint32Array.of(crc32(content)).buffer)]);
}

async function rowsOf(cache: KvCache): Promise<{ key: Float32Array; value: Float32Array }> {
  const { key, value } = await cache.read();
  return { key: key.data, value: value.data };
}

const weightsOf = async (cache: KvCache, query: Floats) =>
  (await cache.attend(query, { returns: { probs: true } })).probs.data;

export const int8Uses: Readonly<Record<string, Use>> = {
  "int8: a constant key feature moves less than a hundredth of the weight, random keys no more than q8_0": async (
    hw,
  ) => {
    for (const constant of [0, 50, 400])
      for (const rows of [1, 20]) {
        const [key, value, query] = [keysWith(constant), randomTensor(3, [1, 1, T, D]), normal(7, [1, 1, rows, D])];
        using cache = await hw.kvCache({ numKvHeads: 1, headDim: D, dtype: "int8" });
        using wide = await hw.kvCache({ numKvHeads: 1, headDim: D });
        using q8 = await hw.kvCache({ numKvHeads: 1, headDim: D });
        await cache.append(key, value);
        await wide.append(key, value);
        await q8.append(asQ8(key), value);
        const exact = await weightsOf(wide, query);
        const share = moved(await weightsOf(cache, query), exact);
        expect(share).toBeLessThan(0.01);
        expect(share).toBeLessThanOrEqual(1.02 * moved(await weightsOf(q8, query), exact));
      }
  },

  "int8: every number is within half the scale of its block": async (hw) => {
    const shape = [1, 2, 50, 44];
    const [key, value] = [keysWith(400, shape), randomTensor(4, [1, 2, 50, 35])];
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: 44, valueDim: 35, dtype: "int8" });
    await cache.append(key, value);
    const read = await rowsOf(cache);
    const scale = (4 * 2.5) / 127; // of numbers of deviation 2 around their mean
    expect(largestDifference(read.key, key.data)).toBeLessThan(0.5001 * scale);
    for (let row = 0; row < 100; ++row)
      for (const [from, to] of [
        [0, 32],
        [32, 35],
      ] as const) {
        // oxfmt-ignore
        const block = value.data.subarray(35 * row + from, 35 * row + to);
        const bound = (0.5 + 2 ** -16) * (Math.max(...block.map(Math.abs)) / 127);
        const found = read.value.subarray(35 * row + from, 35 * row + to);
        expect(largestDifference(block, found)).toBeLessThanOrEqual(bound);
      }
  },

  "int8: lse, scores and outputs are those of the keys that it holds": async (hw) => {
    const key = keysWith(50, [2, 1, 70, 48]);
    using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 1, headDim: 48, valueDim: 40, dtype: "int8" });
    using wide = await hw.kvCache({ batchSize: 2, numKvHeads: 1, headDim: 48, valueDim: 40 });
    await cache.append(key, randomTensor(3, [2, 1, 70, 40]));
    const held = await cache.read();
    await wide.append(held.key, held.value);
    // each stage once, and both kernels
    for (const [rows, scores] of [[1, "raw"], [24, "softcapped"], [1, "biased"]] as const) {
      const query = randomTensor(8, [2, 2, rows, 48]);
      const options = { softcap: 20, sinks: [1, 15], returns: { lse: true, scores } } as const;
      const [a, b] = [await cache.attend(query, options), await wide.attend(query, options)];
      for (const name of ["output", "lse", "scores"] as const)
        expect(largestDifference(a[name].data, b[name].data)).toBeLessThan(3e-4);
    } // oxfmt-ignore
  },

  "int8: a row that is not finite reads as NaN, and is not in the mean": async (hw) => {
    const key = keysWith(100, [1, 1, 20, 64]);
    key.data[19 * 64 + 3] = Infinity;
    const cut = { data: key.data.slice(0, 19 * 64), shape: [1, 1, 19, 64] };
    using poisoned = await hw.kvCache({ numKvHeads: 1, headDim: 64, dtype: "int8" });
    using clean = await hw.kvCache({ numKvHeads: 1, headDim: 64, dtype: "int8" });
    await poisoned.append(key, randomTensor(3, [1, 1, 20, 64]));
    await clean.append(cut, randomTensor(3, [1, 1, 19, 64]));
    const read = (await rowsOf(poisoned)).key;
    expect(read.subarray(0, 19 * 64)).toEqual((await rowsOf(clean)).key);
    expect(read.subarray(19 * 64).every(Number.isNaN)).toBe(true);
  },

  "int8: each batch has the mean of its first tokens, through select, slice, fork, keep and save": async (hw) => {
    const shape = [2, 1, 30, 64];
    const [high, low] = [keysWith(300, shape), keysWith(-300, shape)];
    const value = randomTensor(3, [2, 1, 30, 64]);
    using cache = await hw.kvCache({ batchSize: 2, numKvHeads: 1, headDim: 64, dtype: "int8" });
    await cache.append(high, value, { lengths: [30, 0] });
    await cache.append(low, value, { lengths: [0, 30] });
    const expectNear = async (held: KvCache, b: number, first: number, keys: Floats, from: number) => {
      const { key } = await rowsOf(held);
      const [own, width] = [key.length / 2, 64];
      const part = (data: Float32Array, start: number) => data.subarray(start, start + 5 * width);
      const [held5, keys5] = [part(key, b * own + first * width), part(keys.data, from * width)];
      expect(largestDifference(held5, keys5)).toBeLessThan(0.05);
    };
    await expectNear(cache, 0, 0, high, 0);
    await expectNear(cache, 1, 0, low, 30);
    using fork = await cache.fork();
    using part = await cache.slice(10, 20);
    await fork.select([1, 0]);
    await expectNear(fork, 0, 0, low, 30);
    await expectNear(part, 1, 0, low, 40);
    using loaded = await hw.kvCache({ from: await fork.save() });
    await expectNear(loaded, 1, 3, high, 3);
    await loaded.keep([10, 10], [[5, 6, 7, 8, 9], [0, 1, 2, 3, 4]]); // oxfmt-ignore
    await expectNear(loaded, 0, 10, low, 45);
    await cache.rewind(0);
    await cache.append(low, value);
    await expectNear(cache, 0, 0, low, 0);
  },

  "int8: a rotary cache that removes tokens turns keys with their mean": async (hw) => {
    const key = keysWith(300, [1, 1, 40, 64]);
    const form = { numKvHeads: 1, headDim: 64, rotary: { base: 1e9 } } as const; // feature 37 turns little
    using cache = await hw.kvCache({ ...form, dtype: "int8" });
    using wide = await hw.kvCache(form);
    for (const each of [cache, wide]) {
      await each.append(key, randomTensor(3, [1, 1, 40, 64]));
      await each.remove(3, 9);
    }
    const [a, b] = [(await rowsOf(cache)).key, (await rowsOf(wide)).key];
    const largest = Math.max(...b.map(Math.abs));
    expect(largestDifference(a, b)).toBeLessThan((1.5 * largest) / 127);
  },

  "int8: files of version 1 are read, and saved as version 2": async (hw) => {
    using old = await hw.kvCache({ from: version1() });
    const saved = await old.save();
    expect(saved[8]).toBe(2);
    using again = await hw.kvCache({ from: saved });
    for (const cache of [old, again]) {
      const { key, value } = await rowsOf(cache);
      expect(key).toEqual(key.map((_, n) => ((n % 40) - 5) / 2));
      expect(value).toEqual(value.map((_, n) => ((n % 3) - 5) / 4));
    }
    using float16 = await hw.kvCache({ numKvHeads: 1, headDim: 4, dtype: "float16" });
    expect((await float16.save())[8]).toBe(1);
  },
};
