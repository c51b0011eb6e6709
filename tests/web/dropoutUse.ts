/** What dropout promises, for an instance of any engine. */

import { expect } from "@jest/globals";
import type { Attention, HeadwiseError, Tensor } from "headwise";

import { philox } from "../attention-conformance/reference/dropout.js";
import { referenceAttention } from "../attention-conformance/reference/reference.js";
import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

const [B, Hq, Hkv, Sq, Skv, D] = [2, 4, 2, 19, 37, 8];
const query = randomTensor(1, [B, Hq, Sq, D]);
const key = randomTensor(2, [B, Hkv, Skv, D]);
const value = randomTensor(3, [B, Hkv, Skv, D]);
const returns = { output: true, lse: true, entropy: true, probs: true } as const;
const dropout = { rate: 0.25, seed: 2 ** 40 + 5 };

/** The error of a call. */
async function rejection(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => new Error("it was not rejected"),
    (reason: Error) => reason,
  );
}

/** Which numbers are not 0. */
const nonzero = (numbers: ArrayLike<number>) => Array.from(numbers, (x) => x !== 0);

export const dropoutUse: Readonly<Record<string, (hw: Attention) => Promise<void>>> = {
  "drops what Philox says, and leaves lse and entropy as they are": async (hw) => {
    const plain = await hw.scaledDotProductAttention(query, key, value, { returns });
    const dropped = await hw.scaledDotProductAttention(query, key, value, { dropout, returns });
    for (const name of ["lse", "entropy"] as const)
      dropped[name].data.forEach((x, n) => expect(x).toBeCloseTo(plain[name].data[n]!, 5));
    expect(nonzero(dropped.probs.data)).toEqual(
      nonzero(referenceAttention(query, key, value, { dropout }).probs.values),
    );
    const kept = dropped.probs.data.findIndex((p) => p !== 0);
    expect(dropped.probs.data[kept]! / plain.probs.data[kept]!).toBeCloseTo(1 / 0.75, 5);
  },

  "a rate of 0 is the call without, and a rate of 1 gives zeros": async (hw) => {
    const plain = await hw.scaledDotProductAttention(query, key, value, { returns });
    const none = await hw.scaledDotProductAttention(query, key, value, { dropout: { rate: 0, seed: 9 }, returns });
    expect(bits(none)).toEqual(bits(plain));
    const all = await hw.scaledDotProductAttention(query, key, value, { dropout: { rate: 1, seed: 9 }, returns });
    expect(nonzero(all.output.data)).not.toContain(true);
    expect(nonzero(all.probs.data)).not.toContain(true);
  },

  "the output is right on average, within three standard errors": async (hw) => {
    const [q, k, v] = [randomTensor(4, [1, 1, 2, 4]), randomTensor(5, [1, 1, 24, 4]), randomTensor(6, [1, 1, 24, 4])];
    const { output } = await hw.scaledDotProductAttention(q, k, v);
    const seeds = 200;
    const sums = Array.from(output.data, () => ({ sum: 0, squares: 0 }));
    for (let seed = 0; seed < seeds; ++seed) {
      const dropped = await hw.scaledDotProductAttention(q, k, v, { dropout: { rate: 0.3, seed } });
      sums.forEach((each, n) => {
        const difference = dropped.output.data[n]! - output.data[n]!;
        each.sum += difference;
        each.squares += difference ** 2;
      });
    }
    for (const { sum, squares } of sums) expect(Math.abs(sum)).toBeLessThanOrEqual(3 * Math.sqrt(squares));
  },

  "a layer's gradient drops the same weights as its forward": async (hw) => {
    const x = randomTensor(7, [1, 9, 8]);
    const weight = (n: number) => randomTensor(n, [8, 8]);
    const layer = await hw.multiHeadAttention({
      modelDim: 8,
      numHeads: 2,
      weights: { Wq: weight(8), Wk: weight(9), Wv: weight(10), Wo: weight(11) },
    });
    const options = { dropout: { rate: 0.4, seed: 3 } };
    const dOutput = randomTensor(12, [1, 9, 8]);
    const loss = async (given: Tensor<"float32">) => {
      const { output } = await layer.forward(given, options);
      return output.data.reduce((sum, o, n) => sum + o * dOutput.data[n]!, 0);
    };
    const { saved } = await layer.forward(x, { ...options, save: true });
    const { dInput } = await layer.backward(saved, dOutput);
    for (const n of [0, 13, 40]) {
      const moved = (step: number) => ({ ...x, data: x.data.map((each, m) => (m === n ? each + step : each)) });
      const slope = ((await loss(moved(0.01))) - (await loss(moved(-0.01)))) / 0.02;
      expect(Math.abs(slope - dInput.data[n]!)).toBeLessThan(0.01 * (1 + Math.abs(slope)));
    }
    layer.dispose();
  },

  "what it does not go with is refused by name": async (hw) => {
    const cache = await hw.kvCache({ numKvHeads: Hkv, headDim: D, batchSize: B });
    const layer = await hw.multiHeadAttention({
      modelDim: 8,
      numHeads: 2,
      weights: {
        Wq: randomTensor(8, [8, 8]),
        Wk: randomTensor(9, [8, 8]),
        Wv: randomTensor(10, [8, 8]),
        Wo: randomTensor(11, [8, 8]),
      },
    });
    const x = randomTensor(7, [1, 9, 8]);
    const refusals = [
      [() => cache.attend(query, { dropout }), "cache.attend: dropout is not supported with a cache"],
      [() => cache.step(query, key, value, { dropout }), "cache.step: dropout is not supported with a cache"],
      [
        () => layer.forward(x, { dropout, patch: { probs: "mean" } }),
        "layer.forward: dropout is not supported with patch.probs",
      ],
    ] as const;
    for (const [call, message] of refusals) {
      const error = await rejection(call());
      expect([error.name, error.message]).toEqual(["UnsupportedError", message]);
    }
    for (const [given, message] of [
      [0.1, /dropout must be an object/],
      [{ rate: 1.5, seed: 1 }, /dropout\.rate must be a number from 0 to 1, got 1\.5/],
      [{ rate: NaN, seed: 1 }, /dropout\.rate must be a finite number/],
      [{ rate: 0.5 }, /dropout\.seed must be given: an integer from 0 to 9007199254740991/],
      [{ seed: 1 }, /dropout\.rate must be given: a number from 0 to 1/],
      [{ rate: 0.5, seed: -1 }, /dropout\.seed must be an integer from 0 to 9007199254740991, got -1/],
    ] as const) {
      const error = await rejection(hw.scaledDotProductAttention(query, key, value, { dropout: given as never }));
      expect(error.name).toBe("OptionError");
      expect(error.message).toMatch(message);
    }
    const bare = await rejection(hw.scaledDotProductAttention(query, key, value, { dropout: 0.1 as never }));
    expect((bare as HeadwiseError).hint).toContain("Give { rate: 0.1, seed }");
    layer.dispose();
    cache.dispose();
  },
};

/** Random123's known answers of philox4x32 with 10 rounds. */
export function expectKnownAnswers(): void {
  const ones = 0xffffffffn;
  expect(philox([0n, 0n, 0n, 0n], [0n, 0n])).toEqual([0x6627e8d5n, 0xe169c58dn, 0xbc57ac4cn, 0x9b00dbd8n]);
  expect(philox([ones, ones, ones, ones], [ones, ones])).toEqual([0x408f276dn, 0x41c83b0en, 0xa20bc7c6n, 0x6d5451fdn]);
}
