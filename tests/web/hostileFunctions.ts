// Functions that need no instance, for tests that give them hostile arguments.

import {
  alibiSlopes,
  createAttention,
  combineMasks,
  maskFromHiddenKeys,
  maskFromHiddenPairs,
  maskFromTokenizer,
  quantizeWeight,
  relativePositionBias,
  sinusoidalPositions,
  tensor,
  toBfloat16,
  toFloat16,
  toFloat32,
  toNested,
} from "headwise";
import { formula } from "headwise/formula";
import * as inspect from "headwise/inspect";
import { hub, loadTokenizer, openModel } from "headwise/models";
import { softmax as onnxSoftmax } from "headwise/onnx";
import * as train from "headwise/train";

import { floats } from "./hostilePrograms.js";
import { textFile } from "./smallModels.js";

/** A function, and arguments that it takes. The arguments are made again for each call. */
export interface HostileFunction {
  readonly args: () => readonly unknown[];
  readonly run: (args: never) => unknown;
  /** Part of the calls that are made; for what takes long. */
  readonly part?: number;
}

const [HEADS, TOKENS] = [2, 4];
const probs = () => ({ data: new Float32Array(HEADS * TOKENS * TOKENS).fill(1 / TOKENS), shape: [HEADS, TOKENS, TOKENS] }); // oxfmt-ignore
const tokens = () => Int32Array.of(3, 1, 3, 0);
const bools = (...shape: number[]) => ({
  data: Uint8Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) => k % 2),
  shape,
});
const circuits = (seed: number) => ({
  numHeads: HEADS,
  weights: {
    Wq: floats(seed, 8, 8),
    Wk: floats(seed + 1, 8, 8),
    Wv: floats(seed + 2, 8, 8),
    Wo: floats(seed + 3, 8, 8),
  },
});
const tree = () => ({ embedding: floats(1, 5, 3), block: { gain: floats(2, 3), Wo: floats(3, 3, 3) } });

/** A function whose parameters are its arguments. */
const plain = (run: (...args: never[]) => unknown, args: HostileFunction["args"]): HostileFunction => ({
  args,
  run: (given: never[]) => run(...given),
});

export const FUNCTIONS: Readonly<Record<string, HostileFunction>> = {
  createAttention: {
    args: () => [{ backend: "wasm", variant: "simd", threads: 1, maximumMemory: 2 ** 26, calibrate: false, profile: false }], // oxfmt-ignore
    async run([options]: never[]) {
      (await createAttention(options)).dispose();
    },
    part: 1 / 50,
  },
  tensor: {
    args: () => [new Float32Array(6), [2, 3], "float32"],
    run: ([data, shape, dtype]: never[]) => tensor(data!, shape!, dtype!).shape, // the data are the caller's own array
  },
  "tensor of lists": plain(tensor, () => [[[1, 2, 3], [4, 5, 6]], "int32"]), // oxfmt-ignore
  toNested: plain(toNested, () => [floats(1, 2, 3)]),
  "toFloat16 and back": { args: () => [floats(1, 2, 3)], run: ([x]: never[]) => toFloat32(toFloat16(x!)) },
  "toBfloat16 and back": { args: () => [floats(1, 2, 3)], run: ([x]: never[]) => toFloat32(toBfloat16(x!)) },
  "toFloat32 of an array": plain(toFloat32, () => [Uint16Array.of(0x3c00, 0x4000)]),
  alibiSlopes: plain(alibiSlopes, () => [6]),
  sinusoidalPositions: plain(sinusoidalPositions, () => [4, 6, { split: "halves" }]),
  relativePositionBias: plain(relativePositionBias, () => [
    floats(1, 8, HEADS),
    { queryLength: 3, keyLength: 5, queryOffset: 2, bidirectional: true, maxDistance: 16 },
  ]),
  "relativePositionBias of positions": plain(relativePositionBias, () => [
    floats(1, 8, HEADS),
    { queryPositions: { data: Int32Array.of(0, 2, 1, 1), shape: [2, 2] }, keyPositions: [0, 1, 5], maxDistance: 16 },
  ]),
  maskFromTokenizer: plain(maskFromTokenizer, () => [[[1, 1, 0], [1, 1, 1]]]), // oxfmt-ignore
  "maskFromTokenizer of a tensor": plain(maskFromTokenizer, () => [
    { data: BigInt64Array.of(1n, 1n, 0n), dims: [1, 3] },
  ]),
  maskFromHiddenKeys: plain(maskFromHiddenKeys, () => [bools(2, 3)]),
  maskFromHiddenPairs: plain(maskFromHiddenPairs, () => [bools(4, 2, 3), 2]),
  combineMasks: plain(combineMasks, () => [bools(2, 1, 1, 3), bools(4, 3)]),
  quantizeWeight: plain(quantizeWeight, () => [floats(1, 4, 3), { weightLayout: "out-in" }]),
  formula: plain(formula, () => [
    "s - slope[h] * abs(q - k) + (table[i][j] > limit ? 0 : -Infinity)",
    { slope: [0.5, 0.25], table: { data: new Float32Array(6), shape: [2, 3] }, limit: 2 },
  ]),
  "formula.with": {
    args: () => [{ slope: new Float32Array([1, 2]), limit: 3 }],
    run: ([values]: never[]) => formula("s - slope[h] * limit", { slope: [0.5, 0.25], limit: 2 }).with(values!),
  },
  attentionFlow: plain(inspect.attentionFlow, () => [[probs(), probs()], { from: [0, 3], to: [1] }]),
  rollout: plain(inspect.rollout, () => [[probs(), probs()], {}]),
  composition: plain(inspect.composition, () => [circuits(1), circuits(5)]),
  detect: plain(inspect.detect, () => [[probs(), probs()], tokens(), { threshold: 0.2, queryOffset: 0 }]),
  duplicateToken: plain(inspect.duplicateToken, () => [probs(), tokens(), { queryOffset: 0 }]),
  induction: plain(inspect.induction, () => [probs(), tokens(), { queryOffset: 0 }]),
  firstToken: plain(inspect.firstToken, () => [probs(), { queryOffset: 0 }]),
  previousToken: plain(inspect.previousToken, () => [probs(), { queryOffset: 0 }]),
  selfToken: plain(inspect.selfToken, () => [probs(), { queryOffset: 0 }]),
  positional: plain(inspect.positional, () => [probs(), { queryOffset: 0 }]),
  entropySummary: plain(inspect.entropySummary, () => [probs()]),
  distanceSummary: plain(inspect.distanceSummary, () => [probs(), { queryOffset: 0 }]),
  massSummary: plain(inspect.massSummary, () => [probs(), [0, 3]]),
  headImportance: {
    args: () => [() => 1, { numLayers: 2, numHeads: HEADS }],
    run: (args: Parameters<typeof inspect.headImportance>) => inspect.headImportance(...args),
  },
  activation: plain(train.activation, () => [floats(1, 2, 3), "silu", floats(2, 2, 3)]),
  activationBackward: plain(train.activationBackward, () => [
    floats(1, 2, 3),
    "gelu",
    floats(2, 2, 3),
    floats(3, 2, 3),
  ]),
  rmsNorm: plain(train.rmsNorm, () => [floats(1, 2, 3), floats(2, 3), { epsilon: 1e-6 }]),
  rmsNormBackward: plain(train.rmsNormBackward, () => [
    floats(1, 2, 3),
    floats(2, 3),
    floats(3, 2, 3),
    { epsilon: 1e-6 },
  ]),
  layerNorm: plain(train.layerNorm, () => [floats(1, 2, 3), floats(2, 3), floats(3, 3), { epsilon: 1e-5 }]),
  layerNormBackward: plain(train.layerNormBackward, () => [
    floats(1, 2, 3),
    floats(2, 3),
    floats(3, 2, 3),
    { epsilon: 1e-5 },
  ]),
  embedding: plain(train.embedding, () => [floats(1, 5, 3), { data: tokens(), shape: [2, 2] }]),
  embeddingBackward: plain(train.embeddingBackward, () => [floats(1, 5, 3), tokens(), floats(2, 4, 3)]),
  crossEntropy: plain(train.crossEntropy, () => [floats(1, 4, 5), tokens()]),
  clipGradients: plain(train.clipGradients, () => [tree(), 0.5]),
  "adamW and its step": {
    args: () => [tree(), { learningRate: 0.01, betas: [0.9, 0.99], weightDecay: 0.1 }, tree(), { learningRate: 0.02 }],
    run: ([parameters, options, gradients, step]: never[]) => {
      const { step: take, state } = train.adamW(parameters!, options);
      take(gradients!, step);
      return state;
    },
  },
  mapTree: plain(train.mapTree, () => [tree(), (x: unknown) => x]),
  softmax: plain(onnxSoftmax, () => [{}, { input: floats(1, 2, 3) }, { axis: -1 }, { opset: 13 }]),
  loadTokenizer: plain(loadTokenizer, () => [
    { "tokenizer.json": textFile({}) },
    class {
      encode = () => [1];
      decode = () => "";
    },
  ]),
  hub: plain(hub, () => ["owner/name", { revision: "main", host: "https://hub.example" }]),
  "openModel, a folder": {
    args: () => ["tests/cases", { headers: { authorization: "me" }, cache: false, onProgress: () => undefined }],
    run: async ([folder, options]: never[]) => Object.keys(await openModel(folder!, options)),
  },
  "flatten and unflatten": {
    args: () => [tree(), { "block.gain": floats(2, 3), embedding: floats(1, 5, 3) }],
    // the tensors in the results are the caller's own objects
    run: ([nested, flat]: never[]) => [train.flatten(nested!), train.unflatten(flat!)].map((tree) => Object.keys(tree)),
  },
  saveSafetensors: plain(train.saveSafetensors, () => [tree()]),
  loadSafetensors: plain(train.loadSafetensors, () => [train.saveSafetensors(tree())]),
  random: {
    args: () => [7, [2, 3]],
    run: ([seed, shape]: never[]) => train.random(seed!).normal(shape!),
  },
};
