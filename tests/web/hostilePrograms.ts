// Calls of every kind, for tests that give them hostile arguments.

import type { Attention, KvCache, Layer } from "headwise";
import { formula } from "headwise/formula";
import { loadModel, type Model } from "headwise/models";
import type { Step } from "../../web/src/step/step.js";
import { attention as onnxAttention, rotaryEmbedding as onnxRotary } from "headwise/onnx";

import { CONFIGS, filesOf, randomWeights, shapesOf } from "./smallModels.js";

/** Multiples of 1/8 between −1 and 1, so that sums and means of them stay small. */
export const floats = (seed: number, ...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => (((k + seed) * 7) % 17) / 8 - 1),
  shape,
});

export const B = 2;
export const H = 2;
export const S = 5;
export const D = 4;

type Run = (hw: Attention, args: never) => Promise<unknown>;
export interface Program {
  readonly args: () => readonly unknown[];
  readonly run: Run;
}

const attentionOptions = () => ({
  layout: "BHSD",
  causal: true,
  window: { left: 4 },
  queryOffset: [0, 1],
  mask: { data: new Uint8Array(S * S).fill(1), shape: [S, S] },
  bias: floats(3, B, H, S, S),
  keyLengths: [S, 3],
  alibiSlopes: [0.5, 0.25],
  sinks: { data: new Float32Array(H), shape: [H] },
  dropout: { rate: 0.5, seed: 3 },
  into: floats(0, B, H, S, D),
  returns: { output: true, lse: true, probs: { heads: [1], queries: [0, 4] }, topK: 2, scores: "biased" },
});
export const heads = (seed: number) => floats(seed, B, H, S, D);

/** Makes a layer, and calls it once. */
async function forwardOnce(hw: Attention, [options, x, forward]: [never, never, never]): Promise<unknown> {
  const layer = await hw.multiHeadAttention(options);
  try {
    return await layer.forward(x, forward);
  } finally {
    layer.dispose();
  }
}

/** Calls of every kind. The arguments are made again for each call. */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  scaledDotProductAttention: {
    args: () => [heads(1), heads(2), heads(3), attentionOptions()],
    run: (hw, args: Parameters<Attention["scaledDotProductAttention"]>) => hw.scaledDotProductAttention(...args),
  },
  "a ragged batch": {
    args: () => [
      floats(1, 6, H, D),
      floats(2, 6, H, D),
      floats(3, 6, H, D),
      { layout: "BSHD", cuSeqLensQuery: [0, 2, 6], cuSeqLensKey: new Int32Array([0, 3, 6]), returns: { lse: true } },
    ],
    run: (hw, args: Parameters<Attention["scaledDotProductAttention"]>) => hw.scaledDotProductAttention(...args),
  },
  attentionBackward: {
    args: () => {
      const tensors = { query: heads(1), key: heads(2), value: heads(3), output: heads(4), dOutput: heads(5) };
      const returns = { dQuery: true, dKey: true, dValue: true, dBias: true, dSinks: true, dHeadGain: true };
      const { into: _, ...options } = attentionOptions();
      return [{ ...options, ...tensors, lse: floats(6, B, H, S), returns }];
    },
    run: (hw, args: Parameters<Attention["attentionBackward"]>) => hw.attentionBackward(...args),
  },
  rotaryEmbedding: {
    args: () => [heads(1), { positions: [0, 1, 2, 3, 4], rotaryDim: 2, scaling: { kind: "linear", factor: 2 } }],
    run: (hw, args: Parameters<Attention["rotaryEmbedding"]>) => hw.rotaryEmbedding(...args),
  },
  "rotaryEmbedding with frequencies": {
    args: () => [heads(1), { frequencies: [1, 0.25], attentionFactor: 1.5 }],
    run: (hw, args: Parameters<Attention["rotaryEmbedding"]>) => hw.rotaryEmbedding(...args),
  },
  "rotaryEmbedding with tables": {
    args: () => [heads(1), { cos: floats(1, S, D / 2), sin: floats(2, S, D / 2), into: heads(0) }],
    run: (hw, args: Parameters<Attention["rotaryEmbedding"]>) => hw.rotaryEmbedding(...args),
  },
  mergeAttention: {
    args: () => [
      [
        { output: heads(1), lse: floats(1, B, H, S) },
        { output: heads(2), lse: floats(2, B, H, S) },
      ],
      { sinks: [0, 1] },
    ],
    run: (hw, args: Parameters<Attention["mergeAttention"]>) => hw.mergeAttention(...args),
  },
  "a layer": {
    args: () => [
      {
        inputDim: 8,
        numHeads: 2,
        qkNorm: { kind: "rms", gain: [1, 1, 1, 1] },
        position: { kind: "learned", table: floats(1, 8, 8) },
        weights: {
          in_proj_weight: floats(1, 24, 8),
          "out_proj.weight": floats(2, 8, 8),
          "out_proj.bias": floats(3, 8),
        },
      },
      floats(5, B, S, 8),
      {
        causal: true,
        queryLengths: [5, 3],
        returns: { entropy: true, query: true, key: { heads: [1], keys: [0, 4] }, contributions: { queries: [2] } },
        patch: {
          query: floats(6, B, H, S, 4),
          value: { heads: [0], data: "mean" },
          probs: { heads: [1], queries: [0, 3], data: floats(7, S) },
        },
      },
    ],
    run: forwardOnce,
  },
  "positions of a layer": {
    args: () => [
      {
        inputDim: 8,
        numHeads: 2,
        position: {
          kind: "rotary",
          scaling: { kind: "longrope", shortFactor: [1, 2], longFactor: [2, 4], factor: 4, originalLength: 16 },
        },
        weights: { Wq: floats(1, 8, 8), Wk: floats(2, 8, 8), Wv: floats(3, 8, 8), Wo: floats(4, 8, 8) },
      },
      floats(5, B, S, 8),
      { positions: { data: Int32Array.of(0, 1, 2, 3, 4, 0, 0, 1, 2, 2), shape: [B, S] } },
    ],
    run: forwardOnce,
  },
  "positions of a cache": {
    args: () => [
      {
        batchSize: B,
        numKvHeads: H,
        headDim: D,
        rotary: { frequencies: Float64Array.of(1, 0.1), attentionFactor: 1.2 },
      },
      heads(1),
      heads(2),
      { positions: [0, 1, 1, 2, 2] },
      heads(3),
      { positions: [0, 1, 1, 2, 2], returns: { probs: true } },
    ],
    async run(hw, [options, key, value, append, query, attend]: never[]) {
      const cache = await hw.kvCache(options!);
      try {
        await cache.append(key!, value!, append);
        return await cache.attend(query!, attend);
      } finally {
        cache.dispose();
      }
    },
  },
  "a cache": {
    args: () => [
      { batchSize: B, numKvHeads: H, headDim: D, ring: { keepFirst: 1, window: 3 }, rotary: { base: 100 } },
      heads(1),
      heads(2),
      { lengths: [4, 2] },
      heads(3),
      {
        causal: true,
        returns: { probs: true, query: { heads: [1] }, key: true, value: { keys: [0, 2] }, headOutputs: true },
        patch: {
          query: { heads: [0], queries: [2, 4], data: floats(6, D) },
          headOutputs: { heads: [1], data: "mean" },
        },
      },
      [3, 2],
    ],
    async run(hw, [options, key, value, append, query, attend, lengths]: never[]) {
      const cache = await hw.kvCache(options!);
      try {
        await Promise.all([cache.append(key!, value!, append), cache.attend(query!, attend), cache.rewind(lengths!)]);
        return await cache.attend(query!, attend);
      } finally {
        cache.dispose();
      }
    },
  },
  "a ring with positions of its own": {
    args: () => [
      {
        batchSize: B,
        numKvHeads: H,
        headDim: D,
        ring: { keepFirst: 1, window: 3, positions: "cache" },
        rotary: { base: 100 },
      },
      heads(3),
      heads(1),
      heads(2),
      { causal: true, returns: { probs: true, query: true } },
    ],
    async run(hw, [options, query, key, value, step]: never[]) {
      const cache = await hw.kvCache(options!);
      try {
        return await cache.step(query!, key!, value!, step);
      } finally {
        cache.dispose();
      }
    },
  },
  "saved bytes": {
    args: () => [savedBytes.slice()],
    async run(hw, [bytes]: [never]) {
      const cache = await hw.kvCache({ from: bytes });
      try {
        return await cache.attend(floats(1, 1, H, 1, D));
      } finally {
        cache.dispose();
      }
    },
  },
  "score and visible formulas": {
    args: () => [
      heads(1),
      heads(2),
      heads(3),
      {
        score: formula("s - slope[h] * abs(q - k) * scale", { slope: [0.5, 0.25], scale: 2 }),
        visible: formula("near[i] == near[j] && k <= q", { near: new Int32Array([0, 0, 1, 1, 1]) }),
        returns: { probs: true, scores: "formula" },
      },
    ],
    run: (hw, args: Parameters<Attention["scaledDotProductAttention"]>) => hw.scaledDotProductAttention(...args),
  },
  "gradients of formulas": {
    args: () => {
      const tensors = { query: heads(1), key: heads(2), value: heads(3), output: heads(4), dOutput: heads(5) };
      const score = formula("s - slope[h] * abs(q - k)", { slope: new Float32Array([0.5, 0.25]) });
      return [{ ...tensors, lse: floats(6, B, H, S), score, returns: { dQuery: true, dTables: true } }];
    },
    run: (hw, args: Parameters<Attention["attentionBackward"]>) => hw.attentionBackward(...args),
  },
  linear: {
    args: () => [floats(1, B, S, 6), floats(2, 6, 7), floats(3, 7), { into: floats(0, B, S, 7) }],
    run: (hw, args: Parameters<Attention["linear"]>) => hw.linear(...args),
  },
  "linear with an int8 weight": {
    args: () => {
      const weight = { data: Int8Array.from({ length: 42 }, (_, k) => ((k * 29) % 255) - 127), shape: [7, 6] };
      return [floats(1, S, 6), { ...weight, scales: floats(2, 7) }, floats(3, 7), { weightLayout: "out-in" }];
    },
    run: (hw, args: Parameters<Attention["linear"]>) => hw.linear(...args),
  },
  linearBackward: {
    args: () => [{ x: floats(1, S, 6), weight: floats(2, 6, 7), dOutput: floats(3, S, 7), returns: { dInput: true, dWeight: true, dBias: true } }], // oxfmt-ignore
    run: (hw, args: Parameters<Attention["linearBackward"]>) => hw.linearBackward(...args),
  },
  "a layer that is trained": {
    args: () => [
      { inputDim: 8, numHeads: 2, weights: { Wqkv: floats(1, 8, 24), bqkv: floats(2, 24), Wo: floats(3, 8, 8) } },
      floats(5, B, S, 8),
      { causal: true, save: true, headGain: [1, 0.5] },
      floats(6, B, S, 8),
      { keep: false, returns: { dInput: true, gradients: true } },
      { Wo: floats(7, 8, 8) },
    ],
    async run(hw, [options, x, forward, dOutput, backward, update]: never[]) {
      const layer = await hw.multiHeadAttention(options!);
      try {
        const { saved } = (await layer.forward(x!, forward)) as unknown as { saved: never };
        const gradients = await layer.backward(saved, dOutput!, backward);
        await layer.update(update!);
        return { gradients, after: await layer.forward(x!, forward) };
      } finally {
        layer.dispose();
      }
    },
  },
  "a layer with a cache": {
    args: () => [
      {
        inputDim: 8,
        numHeads: 2,
        numKvHeads: 1,
        position: { kind: "rotary", base: 100 },
        weights: { Wq: floats(1, 8, 8), Wk: floats(2, 8, 4), Wv: floats(3, 8, 4), Wo: floats(4, 8, 8) },
      },
      { batchSize: B, dtype: "int8", ring: { window: 4 } },
      floats(5, B, S, 8),
      true,
      { left: 2 },
      { lse: true, key: { heads: [0] } },
    ],
    async run(hw, [options, form, x, causal, window, returns]: never[]) {
      const layer = await hw.multiHeadAttention(options!);
      try {
        const cache = await layer.kvCache(form);
        try {
          return await layer.forward(x!, { cache, causal: causal!, window: window!, returns: returns! });
        } finally {
          cache.dispose();
        }
      } finally {
        layer.dispose();
      }
    },
  },
  "steps and parts of a cache": {
    args: () => [
      { batchSize: B, numKvHeads: H, headDim: D, dtype: "float16", placement: "auto" },
      heads(1),
      heads(2),
      { lengths: [4, 5], causal: true, score: formula("s - 0.25 * abs(q - k)"), returns: { lse: true } },
      1,
      3,
      0,
      2,
      { data: Int32Array.of(2, 1), shape: [B] },
    ],
    async run(hw, [options, query, key, step, from, to, readFrom, readTo, lengths]: never[]) {
      const caches: KvCache[] = [];
      const kept = (cache: KvCache) => {
        caches.push(cache);
        return cache;
      };
      try {
        const cache = kept(await hw.kvCache(options!));
        const stepped = await cache.step(query!, key!, heads(3), step);
        const part = kept(await cache.slice(from!, to));
        const fork = kept(await part.fork());
        await fork.append(key!, heads(4));
        await cache.rewind(lengths!);
        return [stepped, await part.read(readFrom, readTo), await fork.attend(query!), await cache.attend(heads(5))];
      } finally {
        for (const cache of caches) cache.dispose();
      }
    },
  },
  "a recorded step": {
    args: () => [
      3,
      [1, 3, 8],
      floats(1, 6, 8),
      { scale: 2 },
      { causal: true, window: { left: 1 }, headGain: [1, 0.5], bias: floats(2, 2, 3, 3) },
      floats(3, 8),
      floats(4, 8),
      { epsilon: 1e-3 },
      floats(5, 8),
      { scale: 0.5 },
      floats(6, 8, 8),
      floats(7, 8),
      { weightLayout: "out-in" },
      { layout: "BSE", numHeads: 2, base: 100 },
      { layout: "BSE", numHeads: 2, causal: "upper-left", keyLengths: [2] },
      2,
      { rows: [5, 0, 2], x: floats(8, 1, 3, 8) },
    ],
    async run(hw, given: never[]) {
      const [length, shape, table, scale, options, gain, bias, norm, factor, softmax, weight, shift, layout] = given;
      const [rotary, attention, k, inputs] = given.slice(13);
      const { layer } = await stepOf(hw);
      const step = await hw.record((recorder) => {
        const x = recorder.input("x", shape!);
        const rows = recorder.layerNorm(
          recorder.rows(table!, recorder.numbers("rows", length), scale),
          gain!,
          bias,
          norm,
        );
        const y = recorder.linear(
          recorder.multiply(recorder.layer(layer, rows, options), factor!),
          weight!,
          shift,
          layout,
        );
        const turned = recorder.rotary(recorder.add(x, recorder.reshape(y, [1, 3, 8])), rotary);
        const z = recorder.attention(turned, turned, x, attention);
        return { y: recorder.softmax(y, softmax), z, top: recorder.topK(z, k!).indices };
      });
      try {
        return await step.run(inputs);
      } finally {
        step.dispose();
      }
    },
  },
  "inputs of a step": {
    args: () => [{ token: [3], at: Int32Array.of(4), x: floats(6, 1, 8) }, { signal: undefined }],
    async run(hw, [inputs, options]: never[]) {
      const { step, cache } = await stepOf(hw);
      try {
        return await step.run(inputs, options);
      } catch (error) {
        if (cache.length !== 0) throw new Error("a step that was refused has appended", { cause: error });
        throw error;
      } finally {
        await cache.rewind(0);
      }
    },
  },
  "plan and warmup": {
    args: () => [
      { batchSize: B, numHeads: H, queryLength: S, keyLength: 7, headDim: D },
      { causal: true, window: { left: 3 }, returns: { lse: true } },
    ],
    async run(hw, [shape, options]: never[]) {
      await hw.warmup(shape!, options);
      return (await hw.plan(shape!, options)).bytes;
    },
  },
  allocate: {
    args: () => [[B, H, S, D], "float32", { zeros: true }],
    run(hw, [shape, dtype, options]: never[]) {
      const tensor = hw.allocate(shape!, dtype, options);
      try {
        return Promise.resolve({ data: (tensor.data as Float32Array).slice(), shape: tensor.shape as number[] });
      } finally {
        tensor.dispose();
      }
    },
  },
  "a model": {
    args: () => [[[3, 17, 5], [28, 0, 11]], { attentionMask: [[1, 1, 1], [1, 1, 0]], logits: true, hiddenStates: true, returns: { probs: true }, layers: [0], headGain: { [ATTENTION]: [1, 0.5, 1, 1] }, patch: { [ATTENTION]: { value: { heads: [0], data: "mean" } } } }],
    run: async (hw, [tokens, options]: never[]) => (await modelOf(hw)).run(tokens!, options),
  }, // oxfmt-ignore
  "a model that generates": {
    args: () => [[3, 17, 5], { maxNewTokens: 2, temperature: 0.5, topK: 5, topP: 0.9, seed: 1, stopTokens: [28], patch: () => ({ [ATTENTION]: { value: { heads: [0], data: "mean" } } }) }],
    async run(hw, [prompt, options]: never[]) {
      const steps = [];
      for await (const { token, logits } of (await modelOf(hw)).generate(prompt!, options)) steps.push({ token, logits });
      return steps;
    },
  }, // oxfmt-ignore
  "files of a model": {
    args: () => [{ ...FILES }, { precision: "float32" }],
    async run(hw, [files, options]: never[]) {
      const model = await loadModel(hw, files!, options);
      try {
        return await model.run([3, 17, 5]);
      } finally {
        model.dispose();
      }
    },
  },
  "ONNX Attention": {
    args: () => [
      {
        Q: heads(1),
        K: heads(2),
        V: heads(3),
        attn_mask: { data: new Uint8Array(S * S).fill(1), shape: [S, S] },
        nonpad_kv_seqlen: { data: [5, 4], shape: [B] },
      },
      { is_causal: 1, softcap: 2 },
      { opset: 24 },
    ],
    run: (hw, [inputs, attributes, options]: never[]) => onnxAttention(hw, inputs!, attributes, options),
  },
  "ONNX RotaryEmbedding": {
    args: () => [
      {
        X: heads(1),
        cos_cache: floats(1, S, D / 2),
        sin_cache: floats(2, S, D / 2),
        position_ids: { data: new Int32Array(B * S), shape: [B, S] },
      },
      {},
      {},
    ],
    run: (hw, [inputs, attributes, options]: never[]) => onnxRotary(hw, inputs!, attributes, options),
  },
};

/** The bytes of a cache with five tokens, once `prepare` has made them. */
let savedBytes = new Uint8Array();

export async function prepare(hw: Attention): Promise<void> {
  const saving = await hw.kvCache({ numKvHeads: H, headDim: D });
  await saving.append(floats(1, 1, H, S, D), floats(2, 1, H, S, D));
  savedBytes = (await saving.save()) as Uint8Array<ArrayBuffer>;
  saving.dispose();
}

/** A layer of the model. */
const ATTENTION = "transformer.h.0.attn";

const FILES = filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2")));
const models = new WeakMap<Attention, Promise<Model>>();

/** One model for all calls of an instance. */
function modelOf(hw: Attention): Promise<Model> {
  const model = models.get(hw) ?? loadModel(hw, FILES);
  models.set(hw, model);
  return model;
}

const steps = new WeakMap<Attention, Promise<{ layer: Layer; cache: KvCache; step: Step }>>();

/** One step for all calls of an instance, whose cache is empty before each of them. */
function stepOf(hw: Attention): Promise<{ layer: Layer; cache: KvCache; step: Step }> {
  const made = steps.get(hw) ?? makeStep(hw);
  steps.set(hw, made);
  return made;
}

async function makeStep(hw: Attention): Promise<{ layer: Layer; cache: KvCache; step: Step }> {
  const weights = { Wq: floats(1, 8, 8), Wk: floats(2, 8, 8), Wv: floats(3, 8, 8), Wo: floats(4, 8, 8) };
  const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  const cache = await layer.kvCache();
  const step = await hw.record((recorder) => {
    const rows = recorder.rows(floats(5, 6, 8), recorder.numbers("token"));
    const sum = recorder.add(rows, recorder.input("x", [1, 8]));
    const turned = recorder.rotary(sum, { positions: recorder.numbers("at") });
    return { y: recorder.layer(layer, turned, { cache, causal: true }) };
  });
  return { layer, cache, step };
}
