// Every operation that computes on the GPU, for tests that disturb it at each of its steps. Each begins without any state,
// frees what it has made, and gives results in JavaScript.

import type { Attention, Layer } from "headwise";
import { formula } from "headwise/formula";
import { loadModel } from "headwise/models";

import { randomTensor } from "../web/randomTensor.js";
import { CONFIGS, filesOf, randomWeights, shapesOf } from "../web/smallModels.js";
import { asCaller } from "./brokenGpu.js";

export const x = randomTensor(1, [1, 2, 4, 8]);
const tokens = randomTensor(2, [1, 4, 16]);
const weight = randomTensor(3, [16, 16]);
export const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
const returns = { probs: true, topK: 2, lse: true } as const;
const score = formula("s - slope[h] * abs(q - k)", { slope: [0.5, 0.25] });
const visible = formula("k <= q || k == 2");
const given = { query: x, key: x, value: x, output: x, lse: randomTensor(4, [1, 2, 4]), dOutput: x };
const cacheOf = { numKvHeads: 2, headDim: 8 } as const;
const model = filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));

/** What an operation works with. */
export interface Tools {
  readonly hw: Attention;
  readonly layer: Layer;
  /** Has something disposed when the operation has ended, however it ends. */
  readonly own: <T extends { dispose(): void }>(made: T) => T;
}

type Work = (tools: Tools) => Promise<unknown>;

/** Records into an encoder of the caller, and submits it. */
async function submitted<T>({ hw }: Tools, record: (encoder: GPUCommandEncoder) => Promise<T>): Promise<T> {
  const device = hw.gpu!.device as GPUDevice;
  const encoder = asCaller(() => device.createCommandEncoder());
  const recorded = await record(encoder);
  await asCaller(() => {
    device.pushErrorScope("validation"); // if a layer's weights were refused, so is what uses them
    device.queue.submit([encoder.finish()]);
    return device.popErrorScope();
  });
  return recorded;
}

const works: readonly (readonly [string, Work])[] = [
  ["scaledDotProductAttention", ({ hw }) => hw.scaledDotProductAttention(x, x, x, { returns })],
  ["results on the GPU", async ({ hw, own }) => {
    const { output } = await hw.scaledDotProductAttention(x, x, x, { location: "gpu" });
    return own(output).data();
  }],
  ["a result on the GPU as an input, and one that stays", async ({ hw, own }) => {
    const options = { location: "gpu", returns: { ...returns, scores: "raw", entropy: true } } as const;
    const { output, topK, probs, lse, scores, entropy } = await hw.scaledDotProductAttention(x, x, x, options);
    for (const each of [output, topK.indices, topK.values, probs, lse, scores, entropy]) own(each);
    await hw.scaledDotProductAttention(x, output, output, { into: output });
    return { indices: await topK.indices.data(), output: await output.data() };
  }],
  ["warmup of the GPU", ({ hw }) =>
    hw.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, { location: "gpu" }).then(() => "warm")],
  ["upload and download", async ({ hw, own }) => hw.gpu!.download(own(await hw.gpu!.upload(x)))],
  ["rotaryEmbedding", ({ hw }) => hw.rotaryEmbedding(x)],
  ["mergeAttention", ({ hw }) => hw.mergeAttention([given, given])],
  ["rotaryEmbedding and mergeAttention on the GPU", async ({ hw, own }) => {
    const there = own(await hw.rotaryEmbedding(x, { location: "gpu" }));
    const part = await hw.scaledDotProductAttention(there, x, x, { returns: { lse: true }, location: "gpu" });
    const { output, lse } = { output: own(part.output), lse: own(part.lse) };
    const merged = await hw.mergeAttention([{ output, lse }], { location: "gpu" });
    own(merged.output);
    return own(merged.lse).data();
  }],
  ["recorded calls", async (tools) => {
    const { hw, own } = tools;
    await hw.warmup({ numHeads: 2, queryLength: 4, headDim: 8 }, { compute: false });
    const there = own(await hw.gpu!.upload(x));
    const cache = own(await hw.kvCache(cacheOf));
    const { output } = await submitted(tools, async (encoder) => {
      own(await hw.scaledDotProductAttention(there, there, there, { encoder }));
      own(await cache.append(there, there, { encoder }));
      return own(await cache.attend(there, { encoder }));
    });
    return output.data();
  }],
  ["multiHeadAttention", async ({ hw, own }) => {
    own(await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights }));
  }],
  ["layer.forward", ({ layer }) => layer.forward(tokens)],
  ["an int8 layer with a norm and rotary embedding", async ({ hw, own }) => {
    const ends = { qkNorm: { kind: "rms" }, position: { kind: "rotary" } } as const;
    const made = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights, weightDtype: "int8", ...ends });
    return own(made).forward(tokens);
  }],
  ["attentionBackward", ({ hw }) => {
    const wanted = { dQuery: true, dKey: true, dValue: true, dHeadGain: true } as const;
    return hw.attentionBackward({ ...given, returns: wanted });
  }],
  ["attentionBackward on the GPU, with a bias", async ({ hw, own }) => {
    const bias = randomTensor(6, [2, 4, 4]);
    const wanted = { dQuery: true, dBias: true } as const;
    const { dQuery, dBias } = await hw.attentionBackward({ ...given, bias, returns: wanted, location: "gpu" });
    own(dQuery);
    return own(dBias).data();
  }],
  ["linear and its gradient", async ({ hw }) => {
    const y = await hw.linear(tokens, weight);
    return hw.linearBackward({ x: tokens, weight, dOutput: y });
  }],
  ["uploadWeight", async ({ hw, own }) => hw.linear(tokens, own(await hw.gpu!.uploadWeight(weight)))],
  ["a saved call and its gradient", async ({ layer, own }) => {
    const { saved } = await layer.forward(tokens, { save: true });
    return layer.backward(own(saved), tokens);
  }],
  ["layer.forward with a cache", async ({ hw, layer, own }) =>
    layer.forward(tokens, { cache: own(await hw.kvCache(cacheOf)) })],
  ["formulas", ({ hw }) => hw.scaledDotProductAttention(x, x, x, { score, visible, returns })],
  ["the gradient of a formula", ({ hw }) =>
    hw.attentionBackward({ ...given, score, visible, returns: { dQuery: true, dTables: true } })],
  ["views and patches of a layer", ({ layer }) => layer.forward(tokens, {
    returns: { query: true, key: true, headOutputs: true, contributions: { queries: [1] } },
    patch: { query: { heads: [0], queries: [1], data: randomTensor(5, [1, 1, 8]) } },
  })],
  ["layer.update", async ({ layer }) => {
    await layer.update({ Wq: weight });
    return layer.forward(tokens);
  }],
  ["layer.encode", async (tools) => {
    const { hw, layer, own } = tools;
    const there = own(await hw.gpu!.upload(tokens));
    const { output } = await submitted(tools, async (encoder) => own(await layer.forward(there, { encoder })));
    return output.data();
  }],
  ["a step, a rewind and a reading of a cache", async ({ hw, own }) => {
    const cache = own(await hw.kvCache({ ...cacheOf, dtype: "float16", ring: { window: 8 } }));
    await cache.step(x, x, x, { score });
    await cache.rewind(2);
    return cache.read();
  }],
  ["an edited cache", async ({ hw, own }) => {
    const cache = own(await hw.kvCache({ ...cacheOf, batchSize: 2, dtype: "int8", rotary: {} }));
    const two = randomTensor(7, [2, 2, 6, 8]);
    await cache.append(two, two, { lengths: [6, 4] });
    await cache.select([1, 0]);
    await cache.keep(1, [[0, 2], [1, 4]]);
    return cache.read();
  }],
  ["a cache that grows", async ({ hw, own }) => {
    const cache = own(await hw.kvCache(cacheOf));
    const long = randomTensor(7, [1, 2, 70, 8]);
    await cache.append(x, x);
    await cache.append(long, long);
    return cache.attend(x);
  }],
  ["caches", async ({ hw, own }) => {
    const cache = own(await hw.kvCache({ ...cacheOf, dtype: "int8", rotary: {} }));
    await cache.append(x, x);
    const { output } = await cache.attend(x);
    const part = own(await own(await cache.fork()).slice(1, 3));
    await part.append(x, x);
    const bytes = await part.save();
    own(await hw.kvCache({ from: bytes }));
    return { output, bytes };
  }],
  ["a recorded step", async ({ hw, layer, own }) => {
    const cache = own(await layer.kvCache());
    const step = own(await hw.record((recorder) => {
      const given = recorder.rmsNorm(recorder.input("x", [4, 16]), randomTensor(8, [16]));
      const y = recorder.linear(recorder.layer(layer, given, { cache, causal: true }), weight);
      return { y, top: recorder.topK(recorder.activation(y, "silu"), 2).indices };
    }));
    await step.run({ x: tokens.data });
    return step.run({ x: tokens.data });
  }],
  ["a model", async ({ hw, own }) => {
    const { logits } = await own(await loadModel(hw, model)).run([3, 1, 4]);
    return logits;
  }],
]; // oxfmt-ignore

/** An operation: what it computes, as a whole. It disposes what it has made. */
export type Operation = (hw: Attention, layer: Layer) => Promise<unknown>;

export const operations: readonly (readonly [string, Operation])[] = works.map(([name, work]) => [
  name,
  async (hw, layer) => {
    const made: { dispose(): void }[] = [];
    try {
      return await work({ hw, layer, own: (each) => (made.push(each), each) });
    } finally {
      for (const each of made.reverse()) each.dispose();
    }
  },
]);

/** An instance with the layer that the operations use. */
export async function withLayer(hw: Attention): Promise<{ readonly hw: Attention; readonly layer: Layer }> {
  return { hw, layer: await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights }) };
}
