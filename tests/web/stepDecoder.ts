import { expect } from "@jest/globals";
import { HeadwiseError, type Attention, type KvCache, type Layer } from "headwise";
import { activation } from "headwise/train";
import type { Recorder } from "../../web/src/step/recorder.js";
import type { Place } from "../../web/src/tensor/place.js";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";
import { errorOf } from "./refusal.js";

export const WIDTH = 24;
export const VOCABULARY = 30;
const HIDDEN = 40;

/** A small decoder: its weights, and how its steps are computed one call at a time. */
export class Decoder {
  readonly embedding = randomTensor(1, [VOCABULARY, WIDTH]);
  readonly up = randomTensor(2, [WIDTH, HIDDEN]);
  readonly down = randomTensor(3, [HIDDEN, WIDTH]);
  readonly bias = randomTensor(4, [WIDTH]);
  layers: Layer[] = [];
  caches: KvCache[] = [];

  /** @param placement - Of its layers and caches. */
  static async create(hw: Attention, cacheOptions = {}, placement: Place = "wasm"): Promise<Decoder> {
    const decoder = new Decoder();
    for (const seed of [10, 20]) {
      const weight = (n: number, width = WIDTH) => randomTensor(seed + n, [WIDTH, width]);
      const weights = { Wq: weight(1), Wk: weight(2, 12), Wv: weight(3, 12), Wo: weight(4) };
      const layer = await hw.multiHeadAttention({
        ...{ numHeads: 4, numKvHeads: 2, weights, position: { kind: "rotary" }, placement },
      });
      decoder.layers.push(layer);
      decoder.caches.push(await layer.kvCache({ placement, ...cacheOptions }));
    }
    return decoder;
  }

  record(recorder: Recorder) {
    let x = recorder.rows(this.embedding, recorder.numbers("token"));
    this.layers.forEach((layer, n) => {
      x = recorder.add(x, recorder.layer(layer, x, { cache: this.caches[n]!, causal: true, window: { left: 5 } }));
      const inner = recorder.activation(recorder.linear(x, this.up), "relu");
      x = recorder.add(x, recorder.linear(inner, this.down, this.bias));
    });
    return { x, logits: recorder.linear(x, this.embedding, undefined, { weightLayout: "out-in" }) };
  }

  /** The same step by calls, with caches of its own. */
  async compute(hw: Attention, token: number, caches: readonly KvCache[]) {
    const row = this.embedding.data.slice(token * WIDTH, (token + 1) * WIDTH);
    let x = { data: row, shape: [1, WIDTH] };
    const add = (a: typeof x, b: { readonly data: ArrayLike<number> }) => ({
      data: a.data.map((value, i) => value + b.data[i]!),
      shape: a.shape,
    });
    for (const [n, layer] of this.layers.entries()) {
      x = add(x, (await layer.forward(x, { cache: caches[n]!, causal: true, window: { left: 5 } })).output);
      const inner = activation(await hw.linear(x, this.up), "relu");
      x = add(x, await hw.linear(inner, this.down, this.bias));
    }
    return { x, logits: await hw.linear(x, this.embedding, undefined, { weightLayout: "out-in" }) };
  }
}

/** A text. */
export const TOKENS = [3, 29, 0, 7, 7, 12, 3, 21, 5, 4, 19];

/** Each run of a decoder's step has the bits of its calls. */
export async function expectCalls(hw: Attention, cacheOptions: object, placement: Place = "wasm"): Promise<void> {
  const decoder = await Decoder.create(hw, cacheOptions, placement);
  const caches = await Promise.all(decoder.layers.map((layer) => layer.kvCache({ placement, ...cacheOptions })));
  const step = await hw.record((recorder) => decoder.record(recorder));
  for (const [n, token] of TOKENS.entries()) {
    const { x, logits } = await step.run({ token: [token] });
    const expected = await decoder.compute(hw, token, caches);
    expect(bits([x.data, logits.data])).toEqual(bits([expected.x.data, expected.logits.data]));
    expect(logits.shape).toEqual([1, VOCABULARY]);
    expect(decoder.caches.map(({ appended }) => appended)).toEqual([[n + 1], [n + 1]]);
  }
}

/** If the second cache is full, both are as before, and the step runs again once there is room. */
export async function expectCachesAfterFailure(hw: Attention, decoder: Decoder): Promise<void> {
  const [first, second] = decoder.layers;
  decoder.caches = [await first!.kvCache(), await second!.kvCache({ capacity: 2 })];
  const step = await hw.record((recorder) => decoder.record(recorder));
  await step.run({ token: [1] });
  const { logits } = await step.run({ token: [2] });
  await expect(step.run({ token: [3] })).rejects.toThrow(/^step\.run: batch 0 holds 2 of at most 2 tokens/);
  expect(decoder.caches.map(({ appended }) => appended[0])).toEqual([2, 2]);
  for (const cache of decoder.caches) await cache.rewind(1);
  expect(bits([(await step.run({ token: [2] })).logits.data])).toEqual(bits([logits.data]));
}

/** What does not fit a step is refused by name before anything runs: its caches stay as they are. */
export async function expectRefusals(hw: Attention, placement: Place = "wasm"): Promise<void> {
  const decoder = await Decoder.create(hw, {}, placement);
  const step = await hw.record((recorder) => {
    const { logits } = decoder.record(recorder);
    return { logits: recorder.multiply(logits, recorder.input("factors", [1, VOCABULARY])) };
  });
  const factors = randomTensor(5, [1, VOCABULARY]);
  const { data, shape } = factors;
  const [token, gone] = [[1], Int32Array.of(1)];
  const lost = { data: data.slice(), shape };
  for (const { buffer } of [gone, lost.data]) structuredClone(buffer, { transfer: [buffer] });
  const refused: readonly [unknown, RegExp][] = [
    [undefined, /^step\.run: inputs\.token must be given/],
    [{}, /^step\.run: inputs\.token must be given/],
    [{ token }, /^step\.run: inputs\.factors must be given/],
    [[token, factors], /^step\.run: inputs/],
    [null, /^step\.run: inputs/],
    [{ token, factors, more: [2] }, /^step\.run: unknown input "more"/],
    [{ token: [1, 2], factors }, /^step\.run: inputs\.token must have length 1, got 2/],
    [{ token: [VOCABULARY], factors }, /^step\.run: inputs\.token\[0\] must be an integer from 0 to 29, got 30/],
    ...[-1, 1.5, NaN, "1", null].map((n): [unknown, RegExp] => [
      { token: [n], factors },
      /^step\.run: inputs\.token\[0\]/,
    ]),
    ...["1", {}, factors, new Uint16Array(1), gone].map((n): [unknown, RegExp] => [
      { token: n, factors },
      /^step\.run: .*inputs\.token/,
    ]),
    [
      { token, factors: { data, shape: [VOCABULARY, 1] } },
      /^step\.run: inputs\.factors\.shape must be \[1, 30\], got \[30, 1\]/,
    ],
    [{ token, factors: { data, shape: [1, VOCABULARY + 1] } }, /^step\.run: inputs\.factors/],
    [{ token, factors: data.subarray(1) }, /^step\.run: inputs\.factors/],
    [{ token, factors: Float64Array.from(data) }, /^step\.run: inputs\.factors/],
    [{ token, factors: { data: new Uint16Array(VOCABULARY), shape, dtype: "float16" } }, /^step\.run: inputs\.factors/],
    [{ token, factors: { data: new Int32Array(VOCABULARY), shape } }, /^step\.run: inputs\.factors/],
    [{ token, factors: lost }, /^step\.run: .*inputs\.factors/],
  ];
  for (const [inputs, message] of refused) {
    const error = await errorOf(step.run(inputs as never));
    expect([HeadwiseError.is(error), error.message]).toEqual([true, expect.stringMatching(message)]);
    expect(decoder.caches.map(({ appended }) => appended[0])).toEqual([0, 0]);
  }
  await expect(step.run({ token, factors }, { sginal: 1 } as never)).rejects.toThrow(
    /^step\.run: unknown option "sginal"/,
  );
  const expected = await decoder.compute(
    hw,
    1,
    await Promise.all(decoder.layers.map((layer) => layer.kvCache({ placement }))),
  );
  const { logits } = await step.run({ token, factors });
  expect(bits([logits.data])).toEqual(bits([expected.logits.data.map((x, i) => x * data[i]!)]));
  step.dispose();
}

/** A step does not run without what it was recorded with, and a run that is refused appends nothing. The instance is disposed. */
export async function expectDisposals(hw: Attention, placement: Place = "wasm"): Promise<void> {
  let decoder = await Decoder.create(hw, {}, placement);
  const recorded = () => hw.record((recorder) => decoder.record(recorder));
  const step = await recorded();
  step.dispose();
  step.dispose();
  await expect(step.run({ token: [1] })).rejects.toThrow("step.run: the step was disposed");
  const other = await recorded();
  decoder.caches[1]!.dispose();
  await expect(other.run({ token: [1] })).rejects.toThrow(/^step\.run: .*disposed/);
  expect(decoder.caches[0]!.appended).toEqual([0]);
  await expect(recorded()).rejects.toThrow(/disposed/);
  decoder = await Decoder.create(hw, {}, placement);
  const third = await recorded();
  decoder.layers[1]!.dispose();
  await expect(third.run({ token: [1] })).rejects.toThrow("step.run: a layer of the step was disposed");
  expect(decoder.caches.map(({ appended }) => appended[0])).toEqual([0, 0]);
  hw.dispose();
  await expect(third.run({ token: [1] })).rejects.toThrow(/the instance was disposed/);
  await expect(recorded()).rejects.toThrow(/the instance was disposed/);
  third.dispose();
}
