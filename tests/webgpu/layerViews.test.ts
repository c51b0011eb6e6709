import { expect, test } from "@jest/globals";
import { createAttention, UnsupportedError, type Attention, type KvCacheOptions, type Layer } from "headwise";

import { bits, differences } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { describeOnGpu, onSharedDevice, plainDevice } from "./gpu.js";
import { expectBits } from "./gpuResults.js";
import { BARE, CALLS, expected, layerOptions, PLAIN, referenceCall, TURNED, type Given } from "./layerInside.js";
import { Grid, insideOf } from "./layerInsideReference.js";
import { thrown } from "../web/thrownBy.js";

const ALL = { query: true, key: true, value: true, headOutputs: true } as const;
const slice = { heads: [3, 1], queries: [4, 0, 2] };
const keySlice = { heads: [1], keys: [2, 2, 0] };

describeOnGpu("the inside of a layer on WebGPU", () => {
  let device: GPUDevice;
  let hw: Attention;
  onSharedDevice((own, instance) => {
    device = own;
    hw = instance;
  });

  const withLayer = async <T>(
    { layer }: Pick<Given, "layer">,
    use: (made: Layer) => Promise<T>,
    on = hw,
  ): Promise<T> => {
    const made = await on.multiHeadAttention(layerOptions(layer));
    try {
      return await use(made);
    } finally {
      made.dispose();
    }
  };

  test.each(CALLS)("%s: every view is its definition", async (_, given) => {
    const reference = insideOf(referenceCall(given));
    await withLayer(given, async (layer) => {
      const returns = { ...ALL, ...(given.layer.weights.Wo && { contributions: true }) };
      const options = { ...given.options, ...(given.key && { key: given.key }) };
      const result = await layer.forward(given.x, { ...options, returns });
      for (const name of Object.keys(returns) as (keyof typeof ALL | "contributions")[]) {
        expect(result[name]!.shape).toEqual(reference[name].shape);
        expect([name, differences(result[name], expected(reference[name].data))]).toEqual([name, []]);
      }
      const chosen = await layer.forward(given.x, {
        ...options,
        returns: { output: false, query: slice, key: keySlice, value: keySlice, headOutputs: slice },
      });
      for (const name of ["query", "headOutputs", "key", "value"] as const) {
        const part =
          name === "key" || name === "value"
            ? reference[name].slice(keySlice.heads, keySlice.keys)
            : reference[name].slice(slice.heads, slice.queries);
        expect(chosen[name].shape).toEqual(part.shape);
        expect([name, differences(chosen[name], expected(part.data))]).toEqual([name, []]);
      }
      expect(Object.keys(chosen).sort()).toEqual(["headOutputs", "key", "query", "value"]);
    });
  });

  test("views change no bit of the other results", async () => {
    const given = CALLS[1]![1];
    await withLayer(given, async (layer) => {
      const returns = { probs: true, lse: true, entropy: true };
      const without = await layer.forward(given.x, { causal: true, returns });
      const looked = await layer.forward(given.x, { causal: true, returns: { ...returns, ...ALL } });
      const { output, probs, lse, entropy } = looked;
      expect(bits({ output, probs, lse, entropy })).toEqual(bits(without));
    });
  });

  test("contributions of all heads and the bias sum to the output", async () => {
    const given = CALLS[0]![1];
    await withLayer(given, async (layer) => {
      const { output, contributions } = await layer.forward(given.x, { returns: { contributions: true } });
      const sums = Float64Array.from(output.data, (_, n) => given.layer.weights.bo!.data[n % 14]!);
      contributions.data.forEach((share, n) => {
        const [b, i, o] = [Math.floor(n / (4 * 5 * 14)), Math.floor(n / 14) % 5, n % 14];
        sums[(b * 5 + i) * 14 + o]! += share;
      });
      expect(differences(output, expected(sums))).toEqual([]);
    });
  });

  test("contributions of chosen heads and rows are those among all, bit by bit, with weights of float16 too", async () => {
    const halves = (tensor: { data: ArrayLike<number>; shape: readonly number[] }) => ({
      data: Uint16Array.from(tensor.data, (value) => (value < 0 ? 0xb800 : 0x3800)), // ±0.5
      shape: tensor.shape,
      dtype: "float16" as const,
    });
    const x = randomTensor(30, [2, 5, 12]);
    for (const Wo of [PLAIN.weights.Wo!, halves(PLAIN.weights.Wo as typeof x)]) {
      const options = layerOptions(PLAIN) as { weights: object };
      const layer = await hw.multiHeadAttention({ ...options, weights: { ...options.weights, Wo } } as never);
      const all = await layer.forward(x, { returns: { contributions: true, headOutputs: true } });
      const some = await layer.forward(x, { returns: { output: false, contributions: slice } });
      layer.dispose();
      const grid = new Grid(all.contributions.shape as Grid["shape"]);
      grid.data.set(all.contributions.data);
      expect(Array.from(some.contributions.data)).toEqual(Array.from(grid.slice(slice.heads, slice.queries).data));
      const signs = Float64Array.from(PLAIN.weights.Wo!.data, (w) =>
        Wo.data instanceof Uint16Array ? Math.sign(w) / 2 : w,
      );
      const weights = { ...PLAIN.weights, Wo: { data: signs } };
      const reference = insideOf(referenceCall({ layer: { ...PLAIN, weights }, x }));
      expect(differences(all.contributions, expected(reference.contributions.data))).toEqual([]);
    }
  });

  test("a tensor [S, width] gives views without the batch", async () => {
    await withLayer({ layer: TURNED }, async (layer) => {
      const x = randomTensor(31, [5, 12]);
      const result = await layer.forward(x, { returns: { ...ALL, contributions: slice } });
      expect(result.query.shape).toEqual([4, 5, 8]);
      expect(result.key.shape).toEqual([2, 5, 8]);
      expect(result.contributions.shape).toEqual([2, 3, 14]);
    });
  });

  test("without output projection the heads are the output, and contributions are refused", async () => {
    await withLayer({ layer: BARE }, async (layer) => {
      const x = randomTensor(32, [2, 5, 12]);
      const { output, headOutputs } = await layer.forward(x, { returns: { headOutputs: true } });
      const rows = new Grid([2, 5, 4, 5]); // [B, queries, heads, width]
      rows.data.set(output.data);
      const heads = new Grid([2, 4, 5, 5]);
      for (let b = 0; b < 2; ++b)
        for (let h = 0; h < 4; ++h) for (let i = 0; i < 5; ++i) heads.row(b, h, i).set(rows.row(b, i, h));
      expect(Array.from(headOutputs.data)).toEqual(Array.from(heads.data));
      const error = await thrown(layer.forward(x, { returns: { contributions: true } }));
      expect(UnsupportedError.is(error)).toBe(true);
    });
  });

  const caches: [string, KvCacheOptions & object][] = [
    ["float32", {}],
    ["float16", { dtype: "float16" }],
    ["int8", { dtype: "int8" }],
    ["a ring of int8", { dtype: "int8", ring: { keepFirst: 1, window: 4 } }],
    ["a ring", { ring: { keepFirst: 2, window: 4 } }],
    ["rotary", { rotary: { base: 50 } }],
  ] as never;

  test.each(caches)("a cache of %s shows the keys and values that it holds", async (_, options) => {
    const given = { layer: PLAIN, x: randomTensor(33, [2, 6, 12]) };
    await withLayer(given, async (layer) => {
      const cache = await layer.kvCache({ batchSize: 2, ...options });
      const returns = { key: true, value: true } as const;
      for (const seed of [40, 41, 42]) {
        const x = randomTensor(seed, [2, 4, 12]);
        const growing = { cache, causal: true, appendLengths: [4, 1] } as const;
        if (options.ring) await layer.forward(x, growing); // it shows more: what it held before too
        const result = await layer.forward(
          x,
          options.ring ? { cache, attendOnly: true, returns } : { ...growing, returns },
        );
        const { key, value } = await cache.read();
        expect(bits({ key: result.key, value: result.value })).toEqual(bits({ key, value }));
        const some = await layer.forward(x, {
          cache,
          attendOnly: true,
          returns: { output: false, value: { heads: [1], keys: [3, 0] } },
        });
        const grid = new Grid(value.shape as Grid["shape"]);
        grid.data.set(value.data);
        expect(Array.from(some.value.data)).toEqual(Array.from(grid.slice([1], [3, 0]).data));
      }
      cache.dispose();
    });
  });

  test("a cache of a layer that turns shows its queries and keys turned", async () => {
    const x = randomTensor(34, [1, 6, 12]);
    const reference = insideOf(referenceCall({ layer: TURNED, x, options: { causal: true } }));
    await withLayer({ layer: TURNED }, async (layer) => {
      const cache = await layer.kvCache();
      await layer.forward({ ...x, data: x.data.slice(0, 48), shape: [1, 4, 12] }, { cache, causal: true });
      const last = { ...x, data: x.data.slice(48), shape: [1, 2, 12] };
      const { query, key, headOutputs } = await layer.forward(last, { cache, causal: true, returns: ALL });
      expect(differences(key, expected(reference.key.data))).toEqual([]);
      expect(differences(query, expected(reference.query.slice([0, 1, 2, 3], [4, 5]).data))).toEqual([]);
      expect(differences(headOutputs, expected(reference.headOutputs.slice([0, 1, 2, 3], [4, 5]).data))).toEqual([]);
      cache.dispose();
    });
  });

  test("results on the GPU and recorded calls hold the same bits", async () => {
    const x = randomTensor(35, [2, 5, 12]);
    await withLayer({ layer: TURNED }, async (layer) => {
      const returns = { output: false, ...ALL, key: keySlice, contributions: slice } as const;
      const expectedBits = bits(await layer.forward(x, { returns }));
      const onGpu = await layer.forward(x, { returns, location: "gpu" });
      const encoder = device.createCommandEncoder();
      const recorded = await layer.forward(x, { encoder, returns });
      device.queue.submit([encoder.finish()]);
      for (const result of [onGpu, recorded]) await expectBits(result, expectedBits);
    });
  });

  test("a view over the device's limits is refused by its name, and the layer goes on", async () => {
    using plain = await createAttention({ backend: "webgpu", device: await plainDevice() });
    const refused = async (layer: Layer) => {
      const x = randomTensor(36, [2, 5, 12]);
      const query = { queries: new Int32Array(2 ** 19 + 1) }; // 128 bytes for each row of each batch
      const reason = await thrown(layer.forward(x, { returns: { query } }));
      expect(UnsupportedError.is(reason)).toBe(true);
      expect(String(reason)).toMatch(
        /layer\.forward: returns\.query needs a buffer of 134217984 bytes, over the device's/,
      );
      expect((await layer.forward(x)).output.shape).toEqual([2, 5, 14]);
    };
    await withLayer({ layer: TURNED }, refused, plain);
  });
});
