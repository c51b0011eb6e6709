import { expect } from "@jest/globals";
import type { Attention, KvCache, Layer } from "headwise";
import { activation } from "headwise/train";
import type { Recorder } from "../../web/src/step/recorder.js";
import type { Place } from "../../web/src/tensor/place.js";

import { bits } from "./close.js";
import { randomTensor } from "./randomTensor.js";

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
