// What may be passed as an option: undefined, and options that stand in a variable.

/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-call
   -- where a part is absent, its type is none */

import {
  createAttention,
  HeadwiseError,
  quantizeWeight,
  relativePositionBias,
  sinusoidalPositions,
  type Attention,
  type AttentionOptions,
  type CreateOptions,
  type ForwardOptions,
  type GpuFloats,
  type KvCache,
  type Layer,
  type LayerOptions,
  type Returns,
  type RotaryOptions,
  type Saved,
  type Tensor,
} from "headwise";
import { formula } from "headwise/formula";
import { createAttention as createInline } from "headwise/inline";
import {
  attentionFlow,
  composition,
  detect,
  headImportance,
  positional,
  rollout,
  type AttentionWeights,
  type Floats,
  type Indices,
} from "headwise/inspect";
import { loadModel, type Model } from "headwise/models";
import * as onnx from "headwise/onnx";
import { adamW, layerNorm, type Tree } from "headwise/train";
import type { AttentionHeads, AttentionMap, ElementProps } from "headwise/viz";
import { createAttention as createOnGpu } from "headwise/webgpu";
import { createAttention as createInWorker } from "headwise/worker";

declare const hw: Attention;
declare const layer: Layer;
declare const cache: KvCache;
declare const saved: Saved;
declare const model: Model;
declare const x: Tensor<"float32">;
declare const halves: { readonly data: Uint16Array; readonly shape: readonly number[] };
declare const onGpu: GpuFloats;
declare const floats: Floats;
declare const indices: Indices;
declare const weights: AttentionWeights["weights"];
declare const tree: Tree;
declare const files: readonly File[];
/** Of any type, and perhaps absent: an option that a program passes on. */
declare function maybe<T>(): T | undefined;

export async function instances(): Promise<Attention[]> {
  const signal = maybe<AbortSignal>();
  const wasm = { baseUrl: maybe<string>(), module: maybe<WebAssembly.Module>() };
  return [
    await createAttention({ signal, wasm, threads: maybe<number>(), calibrate: { keep: maybe<boolean>() } }),
    await createAttention({ backend: undefined, device: undefined, onProgress: undefined, yield: undefined }),
    await createInWorker({ signal, wasm, variant: undefined }),
    await createInline({ signal, backend: undefined, wasm: undefined, maximumMemory: undefined }),
    await createOnGpu({ signal, backend: undefined, gpu: undefined, tiling: undefined, profile: undefined }),
  ];
}

export async function calls(): Promise<ArrayLike<number>[]> {
  const signal = maybe<AbortSignal>();
  const settings = { mask: maybe<Tensor<"bool">>(), window: { left: maybe<number>(), right: undefined }, signal };
  const attended = await hw.scaledDotProductAttention(x, x, x, { ...settings, causal: undefined, layout: undefined });
  const forwarded = await layer.forward(x, { ...settings, cache: undefined, patch: { query: undefined } });
  const cached = await cache.step(x, x, x, { ...settings, lengths: undefined, kvLayout: undefined });
  const turned = await hw.rotaryEmbedding(x, { signal, positions: maybe<number>(), scaling: undefined });
  const product = await hw.linear(x, x, undefined, { signal, weightLayout: undefined });
  await cache.append(x, x, { signal, numKvHeads: undefined });
  await hw.mergeAttention([], { signal, sinks: undefined });
  await hw.gpu!.uploadWeight(x, { signal, weightLayout: undefined });
  await hw.warmup({ numHeads: 1, queryLength: 1, headDim: 1, batchSize: undefined }, { signal });
  await layer.update({ Wq: undefined, "qkNorm.gain": maybe<Float32Array>() }, { signal });
  return [attended, forwarded, cached].map(({ output }) => output.data).concat(turned.data, product.data);
}

export async function made(options: Omit<LayerOptions, "signal">): Promise<void> {
  const signal = maybe<AbortSignal>();
  await hw.multiHeadAttention({
    ...options,
    signal,
    qkNorm: { kind: "rms", gain: { query: undefined }, epsilon: undefined },
  });
  await hw.kvCache({
    numKvHeads: 1,
    headDim: 1,
    signal,
    ring: { window: 1, keepFirst: undefined, positions: undefined },
    dtype: undefined,
  });
  await layer.kvCache({ signal, rotary: undefined });
  quantizeWeight(x, { weightLayout: undefined });
  sinusoidalPositions(2, 2, { base: undefined });
  relativePositionBias(x, { queryLength: 1, keyLength: 1, maxDistance: undefined });
  formula("s * a", { a: 1 }).with({ a: maybe<number>() });
  throw new HeadwiseError("", { code: undefined, hint: undefined });
}

/** What may be undefined may be absent, so what depends on it is optional. */
export async function results(): Promise<ArrayLike<number>[]> {
  const lse = maybe<{ readonly lse: true }>();
  const attended = await hw.scaledDotProductAttention(x, x, x, { returns: lse });
  const forwarded = await layer.forward(x, { returns: { lse: maybe<true>() } });
  // @ts-expect-error: returns may be absent
  console.log(attended.lse.data);
  // @ts-expect-error: lse may be absent
  console.log(forwarded.lse.data);
  // @ts-expect-error: the output is in `into`, or float16 as the query is
  const wrong: Float32Array = (await cache.attend(halves, { into: maybe<Tensor<"float32">>() })).output.data;
  // @ts-expect-error: the result may lie on the GPU
  console.log((await layer.forward(x, { location: maybe<"gpu">() })).output.data.subarray(1));
  // @ts-expect-error: nothing may have been saved
  console.log((await layer.forward(x, { save: maybe<true>() })).saved.dispose());

  const { output } = await hw.scaledDotProductAttention(x, x, x, { returns: undefined, into: undefined });
  const there = await hw.scaledDotProductAttention(onGpu, onGpu, onGpu, {
    encoder: {},
    into: undefined,
    location: undefined,
  });
  const numbers: Float32Array = output.data;
  return [numbers, wrong, await there.output.data()];
}

export async function gradients(): Promise<ArrayLike<number>[]> {
  const forward = { query: x, key: x, value: x, output: x, lse: x, dOutput: x } as const;
  const usual = await hw.attentionBackward({ ...forward, returns: undefined, location: undefined });
  const product = await hw.linearBackward({ x, weight: x, dOutput: x, returns: undefined });
  const inner = await layer.backward(saved, x, { returns: undefined, keep: undefined, accumulate: undefined });
  const either = await hw.attentionBackward({ ...forward, returns: maybe<{ readonly dBias: true }>() });
  // @ts-expect-error: returns may be absent
  console.log(either.dBias.data);
  // @ts-expect-error: or it may ask for something else
  console.log(either.dQuery.data);
  return [usual.dQuery.data, product.dBias.data, inner.dInput.data];
}

/** Exported types of options can be written by hand. */
export const written: (AttentionOptions | ForwardOptions | RotaryOptions | CreateOptions)[] = [
  { returns: undefined, into: undefined, location: undefined } satisfies AttentionOptions,
  { returns: { probs: { heads: undefined, average: undefined } }, save: undefined } satisfies ForwardOptions,
  { into: undefined, cos: undefined } satisfies RotaryOptions,
  { backend: undefined } satisfies CreateOptions,
];

export async function otherEntries(): Promise<void> {
  await onnx.attention(hw, { Q: x, K: x, V: x, attn_mask: undefined }, { scale: undefined }, { opset: undefined });
  await onnx.rotaryEmbedding(
    hw,
    { X: x, cos_cache: x, sin_cache: x, position_ids: undefined },
    { num_heads: undefined },
  );
  await onnx.softmax(hw, { input: { ...x, dtype: undefined } }, { axis: undefined }, { opset: undefined });
  detect([floats], indices, { threshold: undefined, queryOffset: undefined });
  rollout([floats], { residual: undefined, headFusion: undefined });
  attentionFlow([floats], { from: undefined, to: undefined });
  positional(floats, { queryOffset: undefined });
  composition({ numHeads: 1, numKvHeads: undefined, weights }, { numHeads: 1, weights });
  await headImportance(() => 0, { numHeads: 1, numLayers: undefined });
  layerNorm(floats, floats, undefined, { epsilon: undefined });
  adamW(tree, { learningRate: undefined, decay: undefined, state: undefined }).step(tree, { learningRate: undefined });
  await loadModel(hw, files, { precision: undefined, signal: undefined, tokenizer: undefined });
  const { layers } = await model.run([1], {
    returns: maybe<{ readonly probs: true }>(),
    logits: undefined,
    patch: { "h.0": undefined },
  });
  // @ts-expect-error: returns may be absent
  console.log(layers["h.0"]!.probs.data);
  model.generate([1], { topK: undefined, stopTokens: undefined, returns: undefined });
}

export function elements(map: AttentionMap, heads: AttentionHeads): ElementProps {
  map.batch = maybe<number>();
  map.causal = maybe<boolean>();
  map.tokens = maybe<readonly string[]>();
  map.view = undefined;
  heads.selection = { queries: undefined, keys: [1] };
  void map.toPNG({ pixelRatio: maybe<number>() });
  void map.toCSV({ queries: undefined });
  return {
    "attention-map": { probs: undefined, range: undefined, onheadchange: undefined },
    "attention-heads": { threshold: undefined, ontokenselect: undefined },
  };
}

/** Options that stand in a variable. Flags are known as far as their types say. */
export async function inVariables(): Promise<ArrayLike<number>[]> {
  const options = { returns: { output: true, probs: true }, causal: true, window: { left: 2 } };
  const known = { returns: { output: true, scores: "raw" }, layout: "BSHD" } satisfies AttentionOptions;
  const constant = { returns: { topK: 2, probs: true }, layout: "BSHD" } as const;
  const flags: Returns = { entropy: true };
  const first = await hw.scaledDotProductAttention(x, x, x, options);
  // @ts-expect-error: the type of the variable says boolean
  console.log(first.probs.data);
  const second = await layer.forward(x, known);
  const third = await cache.attend(x, constant);
  const fourth = await hw.scaledDotProductAttention(x, x, x, { returns: flags });
  const named = { layout: "BSHD" };
  // @ts-expect-error: the type of the variable says string
  await hw.scaledDotProductAttention(x, x, x, named);
  return [second.scores, second.output, third.probs, third.topK.values, fourth.output].map(({ data }) => data);
}
