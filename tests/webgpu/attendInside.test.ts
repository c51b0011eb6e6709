import { expect, test } from "@jest/globals";
import { UnsupportedError, type Attention } from "headwise";

import { B, D, DV, key, KV, query, S, TOKENS, value } from "../web/attendInside.js";
import { attendInsideTests } from "../web/attendInsideTests.js";
import { bits } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { describeOnGpu, onSharedDevice } from "./gpu.js";
import { expectBits } from "./gpuResults.js";
import { thrown } from "../web/thrownBy.js";

describeOnGpu("the inside of attention over a cache on WebGPU", () => {
  let device: GPUDevice;
  let hw: Attention;
  onSharedDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  attendInsideTests(() => hw);

  const makeCache = async () => {
    const cache = await hw.kvCache({ batchSize: B, numKvHeads: KV, headDim: D, valueDim: DV, rotary: { base: 50 } });
    await cache.append(key, value, { lengths: TOKENS });
    return cache;
  };

  test("results on the GPU and recorded calls hold the same bits", async () => {
    const cache = await makeCache();
    const kv = { heads: [1], keys: [3, 0] };
    const returns = { query: true, key: kv, value: kv, headOutputs: { heads: [2] }, probs: true } as const;
    const patch = {
      query: { heads: [1], data: "mean" },
      probs: { heads: [0], queries: [1], data: new Float32Array([1, 2, 0, 0, 3, 0, 0, 0, 0]), shape: [9] },
      headOutputs: { heads: [2], data: randomTensor(20, [S, DV]) },
    } as const;
    const wanted = bits(await cache.attend(query, { patch, returns }));
    const onGpu = await cache.attend(query, { patch, returns, location: "gpu" });
    const encoder = device.createCommandEncoder();
    const recorded = await cache.attend(query, { encoder, patch, returns });
    device.queue.submit([encoder.finish()]);
    for (const result of [onGpu, recorded]) await expectBits(result, wanted);
    cache.dispose();
  });

  test("queries on the GPU are shown and patched, and stay as they are", async () => {
    const cache = await hw.kvCache({ batchSize: B, numKvHeads: KV, headDim: D, valueDim: DV });
    await cache.append(key, value, { lengths: TOKENS });
    const there = await hw.gpu!.upload(query);
    const returns = { query: true, headOutputs: true } as const;
    const patch = { query: { heads: [0], data: [1] } };
    const wanted = bits(await cache.attend(query, { returns, patch }));
    expect(bits(await cache.attend(there, { returns, patch }))).toEqual(wanted);
    expect(Array.from(await there.data())).toEqual(Array.from(query.data));
    there.dispose();
    cache.dispose();
  });

  test("topK and averaged probs with patched probs are refused by name, and step appends nothing", async () => {
    const cache = await makeCache();
    for (const [returns, name] of [
      [{ topK: 2 }, "returns.topK"],
      [{ probs: { average: true } }, "returns.probs.average"],
    ] as const) {
      const options = { returns, patch: { probs: "mean" } } as const;
      for (const call of [cache.attend(query, options), cache.step(query, key, value, options)]) {
        const reason = await thrown(call);
        expect(UnsupportedError.is(reason)).toBe(true);
        expect(String(reason)).toContain(`${name} with patch.probs is not offered on WebGPU`);
      }
      expect(cache.lengths).toEqual(TOKENS);
    }
    cache.dispose();
  });
});
