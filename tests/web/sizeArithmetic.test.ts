// Sizes whose products overflow, and memory beyond 2 GiB.

import { freemem } from "node:os";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, HeadwiseError, type Attention, type Tensor } from "headwise";

import { bits } from "./close.js";
import { timed } from "./figures.js";
import { randomTensor } from "./randomTensor.js";

const GIB = 2 ** 30;
const MOST = 2 ** 31 - 1;

/** A tensor without elements: one extent is 0, so the others may be as large as an extent can be. */
const empty = (...shape: number[]): Tensor<"float32"> => ({ data: new Float32Array(0), shape });

/** Calls with a size that overflows 32, 53 or 64 bits in some product of extents. */
const CALLS: readonly [string, (hw: Attention) => unknown][] = [
  ["batches × heads × rows of attention", (hw) => {
    const x = empty(MOST, MOST, MOST, 0);
    return hw.scaledDotProductAttention(x, x, x);
  }],
  ["probs of no batch", (hw) => {
    const x = empty(0, MOST, MOST, MOST);
    return hw.scaledDotProductAttention(x, x, x, { returns: { probs: true } });
  }],
  ["queries × keys of probs", (hw) => hw.plan({ batchSize: MOST, numHeads: MOST, queryLength: MOST, keyLength: MOST, headDim: MOST }, { returns: { probs: true } })],
  ["rows of a rotary embedding", (hw) => hw.rotaryEmbedding(empty(0, MOST, MOST, MOST - 1))],
  ["rows of a merge", (hw) => hw.mergeAttention([{ output: empty(MOST, MOST, MOST, 0), lse: empty(MOST, MOST, MOST) }])],
  ["rows × outputs of a product", (hw) => hw.linear(empty(MOST, MOST, 0), empty(0, MOST))],
  ["inputs × outputs of a weight", (hw) => hw.linearBackward({ x: empty(0, MOST), weight: empty(MOST, MOST), dOutput: empty(0, MOST) })],
  ["a layer's weights", (hw) => hw.multiHeadAttention({ inputDim: MOST, numHeads: MOST, weights: { Wq: empty(MOST, MOST), Wk: empty(MOST, MOST), Wv: empty(MOST, MOST), Wo: empty(MOST, MOST) } })],
  ["a cache's tokens", async (hw) => {
    using cache = await hw.kvCache({ batchSize: MOST, numKvHeads: MOST, headDim: MOST, capacity: MOST });
    await cache.append(empty(MOST, MOST, 0, MOST), empty(MOST, MOST, 0, MOST));
  }],
  ["a tensor of the engine", (hw) => hw.allocate([MOST, MOST, MOST])],
  ["a tensor of 4 GiB", (hw) => hw.allocate([2 ** 30])],
  ["the total of a ragged batch", (hw) => hw.scaledDotProductAttention(empty(1, 0, 1, 4), empty(1, 0, 1, 4), empty(1, 0, 1, 4), { layout: "BSHD", cuSeqLensQuery: [0, MOST], cuSeqLensKey: [0, MOST] })],
]; // oxfmt-ignore

describe("sizes whose product overflows", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1 });
  });
  afterAll(() => hw.dispose());

  const x = randomTensor(1, [2, 5, 4]);
  const known = async () => bits(await hw.scaledDotProductAttention(x, x, x));

  test.each(CALLS)("%s: a typed error or a result without elements, and the next call as before", async (_, call) => {
    const before = await known();
    const outcome: unknown = await timed("refuses", async () => await call(hw)).catch((error: unknown) => error);
    if (outcome instanceof Error || HeadwiseError.is(outcome))
      expect([HeadwiseError.is(outcome) && outcome.code !== "INTERNAL", String(outcome)]).toEqual([
        true,
        String(outcome),
      ]);
    expect(await known()).toEqual(before);
  });
});

const ROOM = 6 * GIB;
const hasRoom = freemem() > ROOM;

/** Says in its name why it is skipped. */
const testWithRoom = hasRoom
  ? test
  : (name: string, run: () => Promise<void>) => {
      test.skip(`${name} (skipped: this machine has less than ${ROOM / GIB} GiB free)`, run);
    };

describe("memory above 2 GiB", () => {
  testWithRoom("is computed with as below: the same bits at addresses beyond 2³¹", async () => {
    const [query, key, value] = [1, 2, 3].map((seed) => randomTensor(seed, [2, 40, 16])) as [Tensor<"float32">, Tensor<"float32">, Tensor<"float32">]; // oxfmt-ignore
    const results = async (below: number) => {
      const hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 4 * GIB - 2 ** 16 });
      try {
        if (below > 0) hw.allocate([below / 4]);
        return bits(await hw.scaledDotProductAttention(query, key, value, { causal: true, returns: { probs: true, lse: true, topK: 3 } })); // oxfmt-ignore
      } finally {
        hw.dispose();
      }
    };
    expect(await results(2 * GIB + 2 ** 20)).toEqual(await results(0));
  });
});
