import { expect, test } from "@jest/globals";
import { ShapeError, UnsupportedError, type Attention, type KvCache, type KvCacheOptions } from "headwise";

import { differences, valuesOf } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { bothEngines, describeOnGpu } from "./gpu.js";

type Floats = ReturnType<typeof randomTensor>;

/** What two engines may differ by, as a share of the largest number. */
const SHARE = 5e-6;
const [B, HKV, HQ, D, DV] = [2, 2, 4, 10, 6];
const keys = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, D]);
const values = (seed: number, length: number) => randomTensor(seed, [B, HKV, length, DV]);
const queries = (seed: number, length: number) => randomTensor(seed, [B, HQ, length, D]);

describeOnGpu("caches on WebGPU", () => {
  const engines = bothEngines();

  const form: KvCacheOptions = { batchSize: B, numKvHeads: HKV, headDim: D, valueDim: DV };

  /** Does the same with a cache on each engine and compares what comes out, a list of tensors. */
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
      return [output as Floats, ...(await outputs(cache, 2))];
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

  test("what is not offered, or does not fit, is refused by name and leaves the cache as it was", async () => {
    const refusal = (promise: Promise<unknown>) => promise.then(() => undefined, (reason: unknown) => reason); // prettier-ignore
    for (const options of [{ dtype: "int8" }, { dtype: "float16" }, { ring: { window: 4 } }] as const)
      expect(UnsupportedError.is(await refusal(engines.onGpu.kvCache({ ...form, ...options })))).toBe(true);
    const cache = await engines.onGpu.kvCache({ ...form, capacity: 5 });
    await cache.append(keys(1, 4), values(2, 4));
    expect(ShapeError.is(await refusal(cache.append(keys(1, 2), values(2, 2))))).toBe(true);
    expect(cache.lengths).toEqual([4, 4]);
    expect(UnsupportedError.is(await refusal(cache.save()))).toBe(true);
    cache.dispose();
  });
});
