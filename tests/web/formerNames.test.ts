import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, OptionError, type Attention, type KvCache, type Layer } from "headwise";

import { randomTensor } from "./randomTensor.js";
import { thrownBy } from "./thrownBy.js";

let hw: Attention;
let layer: Layer;
let cache: KvCache;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  const weight = randomTensor(1, [4, 4]);
  layer = await hw.multiHeadAttention({ numHeads: 1, weights: { Wq: weight, Wk: weight, Wv: weight, Wo: weight } });
  cache = await hw.kvCache({ numKvHeads: 1, headDim: 4 });
});
afterAll(() => hw.dispose());

/** What a program of JavaScript finds under a name. */
const found = (object: () => object, name: string) => {
  const member = (object() as Readonly<Record<string, unknown>>)[name];
  if (typeof member === "function") (member as () => void).call(object());
};

test.each([
  ["hw", "device", "device: it has another name now: hw.gpu.device"],
  ["hw", "kernelTimes", "kernelTimes: it has another name now: hw.gpu.times"],
  ["hw", "upload", "upload: it has another name now: hw.gpu.upload"],
  ["hw", "uploadWeight", "uploadWeight: it has another name now: hw.gpu.uploadWeight"],
  ["hw", "download", "download: it has another name now: hw.gpu.download"],
  ["hw", "encode", "encode: it has another name now: the option encoder of scaledDotProductAttention"],
  ["hw", "prepare", "prepare: it has another name now: warmup(shape, { compute: false })"],
  ["hw", "loadCache", "loadCache: it has another name now: kvCache({ from: bytes })"],
  ["layer", "encode", "layer.encode: it has another name now: the option encoder of layer.forward"],
  ["cache", "encodeAppend", "cache.encodeAppend: it has another name now: the option encoder of cache.append"],
  ["cache", "encodeAttend", "cache.encodeAttend: it has another name now: the option encoder of cache.attend"],
] as const)("the former name %s.%s says the name of today", (object, name, message) => {
  const objects = { hw: () => hw, layer: () => layer, cache: () => cache };
  const reason = thrownBy(() => found(objects[object], name));
  expect(OptionError.is(reason)).toBe(true);
  expect(reason.message).toBe(message);
});

test("the sizes of a saved cache are refused beside its bytes", async () => {
  const from = await cache.save();
  await expect(hw.kvCache({ from, headDim: 4 })).rejects.toThrow(
    "kvCache: headDim must be absent in a call with from: the bytes say it, got 4",
  );
  const again = await hw.kvCache({ from });
  expect([again.numKvHeads, again.headDim]).toEqual([1, 4]);
});

test("a recorded call gives its results on the GPU only", async () => {
  const x = randomTensor(1, [2, 4]);
  const options = { encoder: {}, location: "cpu" } as const;
  await expect(hw.scaledDotProductAttention(x, x, x, options)).rejects.toThrow(
    'scaledDotProductAttention: location must be "gpu" or absent in a call with encoder, got "cpu"',
  );
});
