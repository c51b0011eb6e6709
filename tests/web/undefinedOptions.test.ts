// An option that is undefined counts as absent. Each call is made twice: with the options that it needs, and then also with
// all others as undefined. The error for an unknown option names them.

import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  createAttention,
  HeadwiseError,
  quantizeWeight,
  relativePositionBias,
  sinusoidalPositions,
  type Attention,
  type KvCache,
  type Layer,
} from "headwise";
import { formula } from "headwise/formula";
import { createAttention as createInline } from "headwise/inline";
import { attentionFlow, detect, headImportance, positional, rollout } from "headwise/inspect";
import { loadModel, type Model } from "headwise/models";
import * as onnx from "headwise/onnx";
import { adamW, layerNorm } from "headwise/train";
import { createAttention as createInWorker } from "headwise/worker";

import { randomTensor } from "./randomTensor.js";
import { CONFIGS, filesOf, randomWeights, shapesOf } from "./smallModels.js";

type Options = Readonly<Record<string, unknown>>;

let hw: Attention;
let layer: Layer;
let model: Model;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  model = await load({});
});
afterAll(() => hw.dispose());

const load = (options: Options) => loadModel(hw, filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))), options);

const x = randomTensor(1, [1, 2, 3, 4]);
const rows = randomTensor(2, [1, 3, 8]);
const matrix = randomTensor(3, [8, 8]);
const probs = randomTensor(4, [2, 3, 3]);
const gain = randomTensor(8, [8]);
const seen = { data: new Uint8Array(3).fill(1), shape: [3] };
const weights = { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix };

/** What `use` gives with a cache of three tokens. */
async function withCache(use: (cache: KvCache) => unknown): Promise<unknown> {
  const cache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
  await cache.append(x, x);
  return [await use(cache), cache.lengths];
}

async function kvCache(options: Options): Promise<unknown> {
  const cache = await hw.kvCache({ ...options, numKvHeads: 2, headDim: 4 });
  return [cache.batchSize, cache.valueDim, cache.dtype, cache.capacity, cache.ring, cache.placement];
}

async function multiHeadAttention(options: Options, given: Options = weights): Promise<unknown> {
  const made = await hw.multiHeadAttention({ ...options, numHeads: 2, weights: given });
  return [made.shape, made.layout, made.placement, made.bytes, await made.forward(rows)];
}

async function attentionBackward(options: Options): Promise<unknown> {
  const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
  return hw.attentionBackward({ ...options, query: x, key: x, value: x, output, lse, dOutput: x });
}

async function layerBackward(options: Options): Promise<unknown> {
  const { saved, output } = await layer.forward(rows, { save: true });
  return layer.backward(saved, output, options);
}

async function opened(opening: Promise<Attention>): Promise<unknown> {
  await using instance = await opening;
  const { backend, variant, threads, maximumMemory } = instance.report;
  return [backend, variant, threads, maximumMemory];
}

async function generated(options: Options): Promise<unknown> {
  const tokens: number[] = [];
  for await (const { token } of model.generate([1, 2], options)) tokens.push(token);
  return tokens;
}

function optimized(options: Options, stepOptions: Options): unknown {
  const parameters = { w: { data: Float32Array.of(1, 2), shape: [2] } };
  adamW(parameters, options).step({ w: { data: Float32Array.of(3, 4), shape: [2] } }, stepOptions);
  return parameters;
}

/** Options by the names of layers. */
type Keyed = Readonly<Record<string, undefined>>;

/** A call, and the names of its options if no error lists them. */
type Case = readonly [call: (options: Options) => unknown, names?: readonly string[]];

const attend = (options: Options) => hw.scaledDotProductAttention(x, x, x, options);
const forward = (options: Options) => layer.forward(rows, options);
const rotate = (options: Options) => hw.rotaryEmbedding(x, options);
const shape = { numHeads: 2, queryLength: 3, headDim: 4 };
const onnxInputs = { Q: x, K: x, V: x };
const rotaryInputs = { X: x, cos_cache: randomTensor(5, [1, 3, 2]), sin_cache: randomTensor(6, [1, 3, 2]) };
const PASSED = ["returns", "layers", "headGain", "patch", "signal"];
const DRAWN = ["temperature", "topK", "topP", "seed", "maxNewTokens", "stopTokens", "cacheDtype"];

const CASES: Readonly<Record<string, Case>> = {
  createAttention: [(options) => opened(createAttention({ ...options, backend: "wasm" }))],
  "createAttention, wasm": [(wasm) => opened(createAttention({ backend: "wasm", wasm }))],
  "createAttention, calibrate": [(calibrate) => opened(createAttention({ backend: "wasm", calibrate }))],
  "createAttention in a worker": [(options) => opened(createInWorker({ ...options, backend: "wasm" }))],
  "createAttention of inline": [(options) => opened(createInline(options))],

  scaledDotProductAttention: [attend],
  "scaledDotProductAttention, window": [(window) => attend({ window })],
  "scaledDotProductAttention, returns": [(returns) => attend({ returns })],
  "scaledDotProductAttention, returns.probs": [(probs) => attend({ returns: { probs } })],
  "scaledDotProductAttention, returns.topK": [(topK) => attend({ returns: { topK: { ...topK, k: 1 } } })],
  "scaledDotProductAttention, returns.scores": [
    (scores) => attend({ returns: { scores: { ...scores, stage: "raw" } } }),
  ],
  "scaledDotProductAttention, a tensor": [(mask) => attend({ mask: { ...mask, ...seen } }), ["dtype"]],
  attentionBackward: [attentionBackward],
  "attentionBackward, returns": [(returns) => attentionBackward({ returns: { ...returns, dKey: true } })],
  mergeAttention: [(options) => hw.mergeAttention([{ output: x, lse: randomTensor(7, [1, 2, 3]) }], options)],
  rotaryEmbedding: [rotate],
  "rotaryEmbedding, yarn": [(more) => rotate({ scaling: { ...more, kind: "yarn", factor: 2, originalLength: 8 } })],
  "rotaryEmbedding, llama3": [(more) => rotate({ scaling: { ...more, kind: "llama3", factor: 2, originalLength: 8 } })],
  linear: [(options) => hw.linear(rows, matrix, undefined, options)],
  linearBackward: [(options) => hw.linearBackward({ ...options, x: rows, weight: matrix, dOutput: rows })],
  plan: [async (options) => (await hw.plan(shape, options)).longest],
  warmup: [(options) => hw.warmup(shape, options)],
  "warmup, shape": [(more) => hw.warmup({ ...more, ...shape })],

  multiHeadAttention: [multiHeadAttention],
  "multiHeadAttention, weights": [(more) => multiHeadAttention({}, { ...more, ...weights })],
  "multiHeadAttention, qkNorm": [(more) => multiHeadAttention({ qkNorm: { ...more, kind: "rms" } })],
  "multiHeadAttention, qkNorm.gain": [
    (gain) => multiHeadAttention({ qkNorm: { kind: "rms", gain } }),
    ["query", "key"],
  ],
  "multiHeadAttention, rotary": [(more) => multiHeadAttention({ position: { ...more, kind: "rotary" } })],
  "multiHeadAttention, sinusoidal": [(more) => multiHeadAttention({ position: { ...more, kind: "sinusoidal" } })],
  "layer.forward": [forward],
  "layer.forward, returns": [(returns) => forward({ returns })],
  "layer.forward, returns.key": [(key) => forward({ returns: { key } })],
  "layer.forward, patch": [(patch) => forward({ patch })],
  "layer.forward, patch.query": [(query) => forward({ patch: { query: { ...query, data: "mean" } } })],
  "layer.backward": [layerBackward],
  "layer.update": [(given) => layer.update({ ...given, ...weights })],
  "layer.kvCache": [async (options) => (await layer.kvCache(options)).dtype],

  kvCache: [kvCache],
  "kvCache, ring": [(ring) => kvCache({ ring: { ...ring, window: 2 } })],
  "kvCache, rotary": [(rotary) => kvCache({ rotary })],
  "cache.append": [(options) => withCache((cache) => cache.append(x, x, options))],
  "cache.attend": [(options) => withCache((cache) => cache.attend(x, options))],
  "cache.step": [(options) => withCache((cache) => cache.step(x, x, x, options))],

  quantizeWeight: [(options) => quantizeWeight(matrix, options)],
  sinusoidalPositions: [(options) => sinusoidalPositions(2, 4, options)],
  relativePositionBias: [(more) => relativePositionBias(matrix, { ...more, queryLength: 2, keyLength: 2 })],
  "formula.with": [(values) => formula("s * a", { a: 2 }).with(values).values, ["a"]],

  "onnx.attention, inputs": [(more) => onnx.attention(hw, { ...more, ...onnxInputs })],
  "onnx.attention, attributes": [(attributes) => onnx.attention(hw, onnxInputs, attributes)],
  "onnx.attention, options": [(options) => onnx.attention(hw, onnxInputs, {}, options)],
  "onnx.rotaryEmbedding, inputs": [(more) => onnx.rotaryEmbedding(hw, { ...more, ...rotaryInputs })],
  "onnx.rotaryEmbedding, attributes": [(attributes) => onnx.rotaryEmbedding(hw, rotaryInputs, attributes)],
  "onnx.softmax": [(attributes) => onnx.softmax(hw, { input: x }, attributes)],

  detect: [(options) => detect([probs], Int32Array.of(1, 2, 1), options), ["threshold", "queryOffset"]],
  rollout: [(options) => rollout([probs], options), ["residual", "headFusion"]],
  attentionFlow: [(options) => attentionFlow([probs], options), ["residual", "headFusion", "from", "to"]],
  positional: [(options) => positional(probs, options), ["queryOffset"]],
  headImportance: [(more) => headImportance(() => 1, { ...more, numHeads: 2 }), ["numLayers"]],

  layerNorm: [(options) => layerNorm(rows, gain, undefined, options), ["epsilon"]],
  adamW: [(options) => optimized(options, {}), ["learningRate", "betas", "epsilon", "weightDecay", "decay", "state"]],
  "adamW.step": [(options) => optimized({}, options), ["learningRate"]],

  loadModel: [
    async (options) => (await load(options)).bytes,
    ["precision", "folder", "onProgress", "signal", "tokenizer"],
  ],
  "model.run": [
    (options) => model.run([1, 2], options),
    [...PASSED, "attentionMask", "logits", "hiddenStates", "tokenTypes"],
  ],
  "model.run, by layers": [
    (keyed) => model.run([1, 2], { headGain: keyed as Keyed, patch: keyed as Keyed }),
    ["transformer.h.0.attn"],
  ],
  "model.generate": [generated, [...PASSED, ...DRAWN]],
};

/** The names of a call's options: its error for an unknown one has them. */
async function namesOf(call: Case[0]): Promise<readonly string[]> {
  const error = await Promise.resolve({ nothingOfThisName: 1 })
    .then(call)
    .catch((error: unknown) => error);
  const [, names] = /Known \w+: (.*?)\. /.exec(HeadwiseError.is(error) ? error.hint : "")!;
  return names!.split(", ");
}

test.each(Object.entries(CASES))("%s takes undefined as absent", async (_, [call, listed]) => {
  const names = listed ?? (await namesOf(call));
  const absent = Object.fromEntries(names.map((name) => [name, undefined]));
  expect(names.length).toBeGreaterThan(0);
  expect(await call(absent)).toEqual(await call({}));
});
