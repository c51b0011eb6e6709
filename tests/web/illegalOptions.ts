// Illegal values of every option of layers, caches and gradients that is no setting of attention.

import { expect, test } from "@jest/globals";
import { HeadwiseError, type Attention, type KvCache } from "headwise";

import { BACKWARD } from "../../web/src/attention/backwardProblem.js";
import { MERGE } from "../../web/src/attention/mergeProblem.js";
import { APPEND } from "../../web/src/cache/appendProblem.js";
import { ATTEND } from "../../web/src/cache/attendProblem.js";
import { CACHE, LAYER_CACHE } from "../../web/src/cache/cacheProblem.js";
import { STEP } from "../../web/src/cache/kvCache.js";
import { SAVED } from "../../web/src/cache/savedCache.js";
import { LAYER_BACKWARD } from "../../web/src/layer/backwardProblem.js";
import { FORWARD } from "../../web/src/layer/forwardOptions.js";
import { LAYER } from "../../web/src/layer/layerProblem.js";
import { QK_NORM } from "../../web/src/layer/qkNorm.js";
import { SINUSOIDAL } from "../../web/src/position/position.js";
import { SCALINGS } from "../../web/src/position/rotaryAngles.js";
import { ROTARY } from "../../web/src/position/rotaryProblem.js";
import type { Table } from "../../web/src/read/settingTable.js";
import { illegalRows, type IllegalSetting, type Lengths, type OwnSamples, type Sample } from "./illegalRows.js";
import { randomTensor } from "./randomTensor.js";

/** Calls an operation with options. */
type Call = (options: object) => unknown;

interface Calls {
  readonly attentionBackward: Call;
  readonly mergeAttention: Call;
  readonly rotaryEmbedding: Call;
  readonly kvCache: Call;
  readonly "kvCache with from": Call;
  readonly "cache.append": Call;
  readonly "cache.attend": Call;
  readonly "cache.step": Call;
  readonly "layer.kvCache": Call;
  readonly multiHeadAttention: Call;
  readonly "layer.forward": Call;
  readonly "layer.forward with a cache": Call;
  readonly "layer.backward": Call;
}

const TENSOR: readonly Sample[] = [
  [3, " must be a tensor"],
  [{ data: new Float64Array(24), shape: [1, 2, 3, 4] }, ".data must be"],
];
const OBJECT: readonly Sample[] = [
  [3, " must be an object"],
  [{ probz: true }, ""],
];
const POSITIONS: readonly Sample[] = [["first", " must be"]];

const BOUNDS: readonly Sample[] = [
  [3, " must be a list of numbers"],
  [[0.5], "[0] must be an integer"],
];
const ANGLES: readonly Sample[] = [
  [3, " must be an object"],
  [{ base: 0 }, ".base must be greater than 0"],
  [{ rotaryDim: 3 }, ".rotaryDim must be even"],
  [{ sections: [1, 0, 0] }, ".sections must sum to rotaryDim / 2"],
  [{ attentionFactor: 2 }, ".attentionFactor must be absent without frequencies"],
  [{ frequencies: [1] }, ".frequencies must have length 2", "ShapeError"],
  [{ scaling: {} }, ".scaling.kind must be given"],
  ...insideOf("scaling", SCALINGS.linear, { kind: "linear", factor: 2 }),
  ...insideOf("scaling", SCALINGS.yarn, { kind: "yarn", factor: 2, originalLength: 8 }),
  ...insideOf("scaling", SCALINGS.llama3, { kind: "llama3", factor: 2, originalLength: 8 }),
  ...insideOf("scaling", SCALINGS["dynamic-ntk"], { kind: "dynamic-ntk", factor: 2, originalLength: 8 }),
];

/** Illegal values of the settings of an object, in an object whose other settings are legal. */
function insideOf<T extends Table>(object: string, table: T, legal: object): readonly Sample[] {
  return illegalRows(table, {} as OwnSamples<T>).map(({ name, message, error, value }) => [
    { [object]: { ...legal, [name]: value({}) } },
    `.${object}.${message}`,
    error,
  ]);
}

const PLAIN_NORM = { kind: QK_NORM.kind, epsilon: QK_NORM.epsilon };
const NORMS = insideOf("qkNorm", PLAIN_NORM, { kind: "rms" });
const SINES = insideOf("position", SINUSOIDAL, { kind: "sinusoidal" });

/** The values of `insideOf` without the object around them. */
function unwrapped(samples: readonly Sample[], object: string): readonly Sample[] {
  return samples.map(([value, rule, error = "OptionError"]) => [
    (value as Readonly<Record<string, unknown>>)[object],
    rule.slice(object.length + 1),
    error,
  ]);
}

const layerOptions = illegalRows(LAYER, {
  weights: [
    [undefined, " must be given"],
    [3, " must be an object"],
  ],
  qkNorm: [
    [3, " must be an object"],
    ...unwrapped(NORMS, "qkNorm"),
    [{ kind: "rms", gain: [1] }, ".gain must have length 4", "ShapeError"],
    [{ kind: "l2", gain: { key: [1, 2, 3, NaN] } }, ".gain.key[3] must be finite"],
  ],
  position: [
    [3, " must be an object"],
    [{}, ".kind must be given"],
    [{ kind: "learned" }, ".table must be given"],
    [{ kind: "learned", table: { data: new Float32Array(3), shape: [1, 3] } }, ".table.shape must be [rows, 8]", "ShapeError"], // oxfmt-ignore
    ...unwrapped(SINES, "position"),
    ...ANGLES.slice(1).map(([value, rule, error = "OptionError"]): Sample => [{ kind: "rotary", ...(value as object) }, rule, error]), // oxfmt-ignore
  ],
});

const READ_BESIDE = { positions: POSITIONS, returns: OBJECT, patch: OBJECT };
const INTO: readonly Sample[] = [[3, " must be a tensor"]];
const attend = { ...READ_BESIDE, into: INTO };

const FORWARD_OPTIONS = illegalRows(FORWARD, {
  ...attend,
  key: TENSOR,
  value: TENSOR,
  cache: [[3, " must be a cache made by kvCache"]],
  keyPositions: [["first", ""]],
  cuSeqLensQuery: BOUNDS,
  cuSeqLensKey: BOUNDS,
});

const sizes: Lengths = { batchSize: 1, numHeads: 2, numTokens: 3, contextLength: 3 };

/** The operations, and their illegal options. */
const ILLEGAL: Readonly<Record<keyof Calls, readonly IllegalSetting[]>> = {
  attentionBackward: illegalRows(BACKWARD, {
    query: TENSOR,
    key: TENSOR,
    value: TENSOR,
    output: TENSOR,
    lse: [[3, " must be a tensor"]],
    dOutput: TENSOR,
    dLse: [[3, " must be a tensor"]],
    returns: OBJECT,
  }),
  mergeAttention: illegalRows(MERGE, { into: INTO }),
  rotaryEmbedding: illegalRows(ROTARY, { positions: POSITIONS, into: INTO }),
  kvCache: illegalRows(CACHE, { rotary: ANGLES }),
  "kvCache with from": illegalRows(SAVED, { from: [[3, " must be a Uint8Array"]] }).filter(
    ({ value }) => value(sizes) !== undefined,
  ), // without `from` it is another call
  "cache.append": illegalRows(APPEND, { positions: POSITIONS }),
  "cache.attend": illegalRows(ATTEND, attend),
  "cache.step": illegalRows({ ...ATTEND, ...STEP }, attend),
  "layer.kvCache": illegalRows(LAYER_CACHE, { rotary: ANGLES }),
  multiHeadAttention: layerOptions,
  "layer.forward": FORWARD_OPTIONS,
  "layer.forward with a cache": FORWARD_OPTIONS,
  "layer.backward": illegalRows(LAYER_BACKWARD, { returns: OBJECT, accumulate: OBJECT, dLse: [[3, " must be a tensor"]] }), // oxfmt-ignore
};

const x = randomTensor(1, [1, 2, 3, 4]);
const rows = randomTensor(2, [1, 3, 8]);
const matrix = randomTensor(3, [8, 8]);
const weights = { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix };

async function callsOf(hw: Attention): Promise<Calls> {
  const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  const cache: KvCache = await hw.kvCache({ numKvHeads: 2, headDim: 4 });
  const inLayer = await layer.kvCache();
  await cache.append(x, x);
  const from = await cache.save();
  const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
  const { saved, output: dOutput } = await layer.forward(rows, { save: true });
  return {
    attentionBackward: (options) =>
      hw.attentionBackward({ query: x, key: x, value: x, output, lse, dOutput: x, ...options }),
    mergeAttention: (options) => hw.mergeAttention([{ output, lse }], options),
    rotaryEmbedding: (options) => hw.rotaryEmbedding(x, options),
    kvCache: (options) => hw.kvCache({ numKvHeads: 2, headDim: 4, ...options }),
    "kvCache with from": (options) => hw.kvCache({ from, ...options }),
    "cache.append": (options) => cache.append(x, x, options),
    "cache.attend": (options) => cache.attend(x, options),
    "cache.step": (options) => cache.step(x, x, x, options),
    "layer.kvCache": (options) => layer.kvCache(options),
    multiHeadAttention: (options) => hw.multiHeadAttention({ numHeads: 2, weights, ...options }),
    "layer.forward": (options) => layer.forward(rows, options),
    "layer.forward with a cache": (options) => layer.forward(rows, { cache: inLayer, ...options }),
    "layer.backward": (options) => layer.backward(saved, dOutput, options),
  };
}

/** Every operation refuses every illegal value and says the rule, and its caches and layers compute the same afterwards. */
export function illegalOptionTests(instance: () => Attention): void {
  test.each(Object.keys(ILLEGAL) as (keyof Calls)[])("%s refuses every illegal option", async (operation) => {
    const calls = await callsOf(instance());
    const usual = () => Promise.all([calls["cache.attend"]({}), calls["layer.forward"]({})]);
    const before = await usual();
    const refusals = ILLEGAL[operation].map(async ({ name, what, error, message, value }) => {
      const reason: unknown = await Promise.resolve({ [name]: value(sizes) })
        .then(calls[operation])
        .catch((thrown: unknown) => thrown);
      if (!HeadwiseError.is(reason)) return `${what}: it was computed`;
      return reason.name === error && reason.message.includes(message) ? [] : `${what}: ${String(reason)}`;
    });
    expect((await Promise.all(refusals)).flat()).toEqual([]);
    expect(await usual()).toEqual(before);
    await calls["layer.backward"]({});
  });
}
