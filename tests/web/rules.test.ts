// Rules that TypeScript checks before C++ would: both say them in one sentence, that of cpp/src/base/rules.def.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { createAttention, relativePositionBias, type Attention } from "headwise";
import { formula } from "headwise/formula";

import { randomTensor } from "./randomTensor.js";
import { errorOf } from "./refusal.js";

/** The sentence of each rule. */
const sentences = new Map(
  Array.from(
    readFileSync(new URL("../../cpp/src/base/rules.def", import.meta.url), "utf8").matchAll(
      /^RULE\((\w+), \w+, "((?:[^"\\]|\\.)*)"\)$/gm,
    ),
    ([, rule, sentence]) => [rule!, sentence!.replaceAll('\\"', '"')] as const,
  ),
);

const escaped = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/** Matches a message that begins with the sentence, whatever stands in its places. What was seen may follow. */
function patternOf(sentence: string): RegExp {
  const words = sentence.split(/\{\w+\}/).map(escaped);
  return new RegExp(`^[\\w.]+: ${words.join("[\\w.[\\]-]+")}(, got .*)?$`);
}

const x = randomTensor(1, [1, 2, 3, 4]);
const rows = randomTensor(2, [1, 3, 8]);
const matrix = randomTensor(3, [8, 8]);
const weights = { Wq: matrix, Wk: matrix, Wv: matrix, Wo: matrix };
const form = { numKvHeads: 2, headDim: 4 };
const cosAndSin = { cos: randomTensor(4, [5, 2]), sin: randomTensor(5, [5, 2]) };

type Break = (hw: Attention) => unknown;
const attention =
  (options: object, query = x): Break =>
  (hw) =>
    hw.scaledDotProductAttention(query, query, query, options);
const attentionOn =
  (length: number, options: object): Break =>
  async (hw) => {
    const cache = await hw.kvCache(form);
    await cache.append(randomTensor(6, [1, 2, length, 4]), randomTensor(7, [1, 2, length, 4]));
    return cache.attend(x, options);
  };
const rotary =
  (options: object): Break =>
  (hw) =>
    hw.rotaryEmbedding(x, options);
const layer =
  (options: object, creation: object = {}): Break =>
  async (hw) =>
    (await hw.multiHeadAttention({ numHeads: 2, weights, ...creation })).forward(rows, options);
const layerWith =
  (options: object, creation: object = {}, ofCache: object = {}): Break =>
  async (hw) => {
    const made = await hw.multiHeadAttention({ numHeads: 2, weights, ...creation });
    return made.forward(rows, { cache: await hw.kvCache({ ...form, ...ofCache }), ...options });
  };
const bias =
  (buckets: number, options: object = {}): Break =>
  () =>
    relativePositionBias(randomTensor(8, [buckets, 2]), { queryLength: 3, keyLength: 3, ...options });

/** What breaks each rule in TypeScript. */
const BROKEN: Readonly<Record<string, Break>> = {
  least: attention({ softcap: -1 }),
  sink: attention({ sinks: [Infinity, 0] }),
  heads_per_kv_head: (hw) => hw.multiHeadAttention({ numHeads: 4, numKvHeads: 3, weights }),
  key_lengths: attention({ keyLengths: [4] }),
  cache_batches: (hw) => hw.kvCache({ ...form, batchSize: 2 ** 20 + 1 }),
  query_lengths: attention({ queryLengths: [4] }),
  finite: attention({ alibiSlopes: [0.5, NaN] }),
  ragged_together: attention({ cuSeqLensQuery: [0, 2], layout: "BSHD" }),
  ragged_batch_size: attention(
    { cuSeqLensQuery: [0, 2], cuSeqLensKey: [0, 2], layout: "BSHD" },
    randomTensor(9, [2, 2, 2, 4]),
  ),
  ragged_lengths: attention({ cuSeqLensQuery: [0, 2], cuSeqLensKey: [0, 2], layout: "BSHD", keyLengths: [2] }),
  ragged_cache: layerWith({ cuSeqLensQuery: [0, 3], cuSeqLensKey: [0, 3] }),
  scale: attention({ scale: NaN }),
  dropout_rate: attention({ dropout: { rate: 2, seed: 1 } }),
  dropout_cache: attentionOn(3, { dropout: { rate: 0.5, seed: 1 } }),
  dropout_patch: layer({ dropout: { rate: 0.5, seed: 1 }, patch: { probs: { data: randomTensor(9, [1, 2, 3, 3]) } } }),
  score_empty_rows: attention({ score: formula("s"), emptyRows: "throw" }),
  selected_head: attention({ returns: { probs: { heads: [2] } } }),
  selected_query: attention({ returns: { probs: { queries: [3] } } }),
  repeated_head: layer({ patch: { query: { heads: [1, 1], data: randomTensor(9, [1, 2, 3, 4]) } } }),
  repeated_query: layer({ patch: { query: { queries: [1, 1], data: randomTensor(9, [1, 2, 2, 4]) } } }),
  top_k: attention({ returns: { topK: { k: 0 } } }),
  ring_dropped: async (hw) => {
    const cache = await hw.kvCache({ ...form, ring: { window: 4 } });
    const many = randomTensor(6, [1, 2, 8, 4]);
    await cache.append(many, many);
    return cache.attend(x, { causal: true, window: { left: 5 } });
  },
  cache_positions_tables: (hw) =>
    hw.kvCache({ ...form, ring: { window: 8, positions: "cache" }, rotary: cosAndSin } as never),
  capacity_window: (hw) => hw.kvCache({ ...form, capacity: 4, ring: { window: 8 } }),
  select_index: async (hw) => (await hw.kvCache(form)).select([1]),
  attend_only_context: layerWith({ attendOnly: true, key: rows }),
  attend_only_cache: layer({ attendOnly: true }),
  append_lengths_cache: layer({ appendLengths: [1] }),
  value_length: layer({ value: randomTensor(2, [1, 4, 8]) }),
  attend_only_patches: layerWith({ attendOnly: true, patch: { key: { data: randomTensor(9, [1, 2, 3, 4]) } } }),
  contributions_projection: layer(
    { returns: { contributions: true } },
    { weights: { Wq: matrix, Wk: matrix, Wv: matrix }, outputProjection: false },
  ),
  rotary_twice: layerWith({}, { position: { kind: "rotary" } }, { rotary: {} }),
  output_dim: (hw) =>
    hw.multiHeadAttention({
      numHeads: 2,
      weights: { Wq: matrix, Wk: matrix, Wv: matrix },
      outputProjection: false,
      outputDim: 7,
    }),
  sequence_length_cache: layerWith(
    {},
    { position: { kind: "rotary", scaling: { kind: "dynamic-ntk", factor: 2, originalLength: 8 } } },
  ),
  saved_forward: async (hw) => {
    const [one, other] = [
      await hw.multiHeadAttention({ numHeads: 2, weights }),
      await hw.multiHeadAttention({ numHeads: 2, weights }),
    ];
    const { saved } = await one.forward(rows, { save: true });
    return other.backward(saved, rows);
  },
  buckets: bias(1, { bidirectional: false }),
  even_buckets: bias(3),
  max_distance: bias(32, { maxDistance: 8 }),
  position_of_row: rotary({ ...cosAndSin, positions: [0, 1, 5] }),
  longrope_length: rotary({
    scaling: { kind: "longrope", factor: 2, shortFactor: [1, 1], longFactor: [1, 1], originalLength: 1 },
  }),
  dynamic_ntk_factor: rotary({ scaling: { kind: "dynamic-ntk", factor: 0.5, originalLength: 8 } }),
  yarn_base: rotary({ base: 1, scaling: { kind: "yarn", factor: 2, originalLength: 8 } }),
};

describe("a rule that both sides check has one sentence", () => {
  let hw: Attention;
  beforeAll(async () => {
    hw = await createAttention({ backend: "wasm", threads: 1 });
  });
  afterAll(() => hw.dispose());

  test.each(Object.entries(BROKEN))("%s", async (rule, breaks) => {
    expect((await errorOf(Promise.resolve(hw).then(breaks))).message).toMatch(patternOf(sentences.get(rule)!));
  });
});
