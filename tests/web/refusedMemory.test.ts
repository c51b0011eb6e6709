// A full engine with a little more room at each call: so memory runs out at every request of the call in turn. The native
// tests refuse each request by its number (tests/cpp/test_refused_memory.cpp).

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, OutOfMemoryError, type Attention, type EngineTensor, type Layer } from "headwise";
import { formula } from "headwise/formula";

import { bits } from "./close.js";
import { note } from "./figures.js";
import { randomTensor } from "./randomTensor.js";

const x = randomTensor(1, [1, 2, 6, 8]);
const lse = randomTensor(2, [1, 2, 6]);
/** Larger than what calls share without asking for memory. */
const wide = randomTensor(5, [1, 2, 6, 512]);
const tokens = randomTensor(3, [1, 6, 16]);
const weight = randomTensor(4, [16, 16]);
const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
const score = formula("s - slope[h] * abs(q - k)", { slope: [0.5, 0.25] });
const returns = { lse: true, entropy: true, probs: true, topK: 2, scores: "raw" } as const;

type Work = (hw: Attention, layer: Layer) => Promise<object>;

const OPERATIONS: readonly [string, Work][] = [
  ["scaledDotProductAttention", (hw) => hw.scaledDotProductAttention(x, x, x, { returns })],
  ["formulas", (hw) => hw.scaledDotProductAttention(x, x, x, { score, visible: formula("k <= q") })],
  ["attentionBackward", (hw) => hw.attentionBackward({ query: x, key: x, value: x, output: x, lse, dOutput: x, score, returns: { dQuery: true, dKey: true, dValue: true, dTables: true } })],
  ["rotaryEmbedding", (hw) => hw.rotaryEmbedding(wide)],
  ["mergeAttention", (hw) => hw.mergeAttention([{ output: wide, lse }, { output: wide, lse }])],
  ["linear", (hw) => hw.linear(tokens, weight)],
  ["linearBackward", (hw) => hw.linearBackward({ x: tokens, weight, dOutput: tokens })],
  ["multiHeadAttention", async (hw) => {
    using layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights, position: { kind: "rotary" } });
    return layer.forward(tokens);
  }],
  ["layer.forward and backward", async (_, layer) => {
    const { saved } = await layer.forward(tokens, { save: true });
    try {
      return await layer.backward(saved, tokens);
    } finally {
      saved.dispose();
    }
  }],
  ["a cache", async (hw) => {
    using cache = await hw.kvCache({ numKvHeads: 2, headDim: 8, dtype: "int8", rotary: {} });
    await cache.append(x, x);
    using part = await cache.slice(1, 5);
    using fork = await part.fork();
    await fork.append(x, x);
    using loaded = await hw.kvCache({ from: await fork.save() });
    return loaded.attend(x);
  }],
  ["a recorded step", async (hw, layer) => {
    using cache = await layer.kvCache();
    using step = await hw.record((recorder) => {
      const given = recorder.rmsNorm(recorder.input("x", [6, 16]), randomTensor(6, [16]));
      return { y: recorder.linear(recorder.layer(layer, given, { cache, causal: true }), weight) };
    });
    return [await step.run({ x: tokens.data }), await step.run({ x: tokens.data })];
  }],
]; // oxfmt-ignore

/** Bytes of the step by which the room grows, and of the room at most. */
const [STEP, MOST] = [1024, 2 ** 20];

describe("an engine whose memory is full but for a little room", () => {
  let hw: Attention;
  let layer: Layer;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 16 * 2 ** 20 });
    layer = await hw.multiHeadAttention({ inputDim: 16, numHeads: 2, weights });
  });
  afterAll(() => hw.dispose());

  /** Waits until what was disposed is given back: that waits for its turn, and a call made now comes after it. */
  async function givenBack(): Promise<void> {
    await hw.rotaryEmbedding(x);
  }

  /** Takes all memory, in pieces as large as there are. */
  function fill(): EngineTensor<"float32">[] {
    const held: EngineTensor<"float32">[] = [];
    for (let length = 2 ** 22; length >= 16;)
      try {
        held.push(hw.allocate([length], "float32", { zeros: false }));
      } catch {
        length >>= 1;
      }
    return held;
  }

  test.each(OPERATIONS)(
    "%s: OutOfMemoryError or the right bits at every room, and nothing is lost",
    async (_, work) => {
      const expected = bits(await work(hw, layer));
      let refusals = 0;
      let computed = 0;
      for (let room = STEP; computed < 3 && room < MOST; room += STEP) {
        await givenBack();
        const gap = hw.allocate([room / 4]);
        const held = fill();
        gap.dispose();
        const outcome: unknown = await work(hw, layer).then(bits, (error: unknown) => error);
        const isRefused = OutOfMemoryError.is(outcome);
        refusals += Number(isRefused);
        computed += Number(!isRefused);
        if (!isRefused) expect(outcome).toEqual(expected);
        for (const tensor of held) tensor.dispose();
        expect(bits(await work(hw, layer))).toEqual(expected);
      }
      expect([computed, refusals > 0]).toEqual([3, true]);
      note("refusals", refusals);
      // what a call that failed had kept would be missing now
      await givenBack();
      const held = fill();
      const bytes = held.reduce((sum, { data }) => sum + data.byteLength, 0);
      for (const tensor of held) tensor.dispose();
      await work(hw, layer);
      await givenBack();
      const again = fill();
      expect(again.reduce((sum, { data }) => sum + data.byteLength, 0)).toBe(bytes);
      for (const tensor of again) tensor.dispose();
      await work(hw, layer);
    },
  );

  test("a step that finds no memory leaves its caches as they were, and runs again with the right bits", async () => {
    const x = randomTensor(7, [200, 16]);
    const more = randomTensor(8, [200, 16]);
    let expected: unknown;
    let refusals = 0;
    for (let room = STEP; room < MOST; room += 8 * STEP) {
      using first = await layer.kvCache();
      using second = await layer.kvCache();
      using step = await hw.record((recorder) => {
        const x = recorder.input("x", [200, 16]);
        // the first cache has room for them, so what the second layer lacks is refused after an append
        const few = recorder.layer(layer, recorder.tokens(x, 0, 8), { cache: first, causal: true });
        return { few, y: recorder.layer(layer, x, { cache: second, causal: true }) };
      });
      await step.run({ x });
      const saved = async () => Buffer.concat([await first.save(), await second.save()]);
      const before = await saved();
      const gap = hw.allocate([room / 4]);
      const held = fill();
      gap.dispose();
      const outcome: unknown = await step.run({ x: more }).then(bits, (error: unknown) => error);
      for (const tensor of held) tensor.dispose();
      const isRefused = OutOfMemoryError.is(outcome);
      if (isRefused) {
        refusals++;
        expect([first.length, second.length]).toEqual([8, 200]);
        expect(Buffer.compare(await saved(), before)).toBe(0);
      }
      const computed = isRefused ? bits(await step.run({ x: more })) : outcome;
      expected ??= computed;
      expect(computed).toEqual(expected);
      expect([first.length, second.length]).toEqual([16, 400]);
      if (!isRefused) break;
    }
    note("refusals", refusals);
    expect(refusals).toBeGreaterThan(2);
  });
});
