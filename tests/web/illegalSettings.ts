// Illegal values of every setting of attention.

import { expect, test } from "@jest/globals";
import { HeadwiseError, type Attention } from "headwise";

import { SETTINGS } from "../../web/src/attention/attentionSettings.js";
import { illegalRows, type OwnSamples } from "./illegalRows.js";
import { randomTensor } from "./randomTensor.js";

const BROADCAST = ".shape must broadcast from the right to [batchSize, numHeads, queryLength, keyLength]";

/** Of the settings with a reader of their own; the compiler asks for a new one. */
const OWN: OwnSamples<typeof SETTINGS> = {
  causal: ["left", 1, null].map((value) => [value, ' must be true, false, "upper-left" or "lower-right"']),
  queryOffset: [
    [0.5, " must be an integer"],
    ["0", " must be a list of numbers"],
  ],
  mask: [
    [true, " must be a tensor"],
    [{ data: new Uint8Array(101), shape: [101] }, BROADCAST, "ShapeError"],
    [{ data: new Float32Array(1), shape: [1] }, " must be of dtype bool"],
  ],
  bias: [
    ["none", " must be a tensor"],
    [{ data: new Float32Array(101), shape: [101] }, BROADCAST, "ShapeError"],
    [{ data: new Float32Array(1), shape: [1, 1, 1, 1, 1] }, BROADCAST, "ShapeError"],
  ],
  score: [
    ["s - 1", " must be a formula"],
    [{}, " must be a formula"],
  ],
  visible: [
    ["k <= q", " must be a formula"],
    [{}, " must be a formula"],
  ],
  dropout: [
    [0.1, " must be an object"],
    [{ rate: 2, seed: 1 }, ".rate must be a number from 0 to 1"],
    [{ rate: 0.1 }, ".seed must be given"],
    [{ rate: 0.1, seed: -1 }, ".seed must be an integer from 0 to"],
  ],
};

export const illegalSettings = illegalRows(SETTINGS, OWN);

const lengths = { batchSize: 1, numHeads: 2 };
const x = randomTensor(1, [1, 2, 3, 4]);
const rows = randomTensor(2, [1, 3, 8]);
const matrix = randomTensor(3, [8, 8]);
const weights = { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix };
const shape = { numHeads: 2, queryLength: 3, headDim: 4 };

/** Every operation that takes the settings. */
async function operationsOf(hw: Attention): Promise<Readonly<Record<string, (options: object) => unknown>>> {
  const layer = await hw.multiHeadAttention({ numHeads: 2, weights });
  const [filled, layerCache] = [await hw.kvCache({ numKvHeads: 2, headDim: 4 }), await layer.kvCache()];
  await filled.append(x, x);
  const { output, lse } = await hw.scaledDotProductAttention(x, x, x, { returns: { lse: true } });
  const back = { query: x, key: x, value: x, output, lse, dOutput: x };
  return {
    scaledDotProductAttention: (options) => hw.scaledDotProductAttention(x, x, x, options),
    attentionBackward: (options) => hw.attentionBackward({ ...back, ...options }),
    plan: (options) => hw.plan(shape, options),
    warmup: (options) => hw.warmup(shape, options),
    "layer.forward": (options) => layer.forward(rows, options),
    "layer.forward with a cache": (options) => layer.forward(rows, { ...options, cache: layerCache }),
    "cache.attend": (options) => filled.attend(x, options),
    "cache.step": (options) => filled.step(x, x, x, options),
  };
}

/** Every operation of the instance refuses every illegal value, says the rule, and computes the same afterwards. */
export function illegalSettingTests(instance: () => Attention): void {
  test.each(illegalSettings)("$what is refused by every operation", async ({ name, error, message, value }) => {
    const operations = await operationsOf(instance());
    const usual = () => operations["scaledDotProductAttention"]!({});
    const before = await usual();
    const outcomes = await Promise.all(
      Object.entries(operations).map(async ([operation, call]) => {
        const reason: unknown = await Promise.resolve({ [name]: value(lengths) })
          .then(call)
          .catch((thrown: unknown) => thrown);
        if (!HeadwiseError.is(reason)) return `${operation}: it was computed`;
        return reason.name === error && reason.message.includes(message) ? "refused" : reason.message;
      }),
    );
    expect(outcomes).toEqual(outcomes.map(() => "refused"));
    expect(await usual()).toEqual(before);
  });
}
