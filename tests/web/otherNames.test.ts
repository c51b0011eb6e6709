import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, relativePositionBias, type Attention, type HeadwiseError } from "headwise";

import { randomTensor } from "./randomTensor.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
});
afterAll(() => hw.dispose());

const x = randomTensor(1, [1, 4, 8]);
const unit = randomTensor(2, [8, 8]);
const weights = { Wq: unit, Wk: unit, Wv: unit, Wo: unit };

/** A call of each operation with one more option. */
const operations = {
  scaledDotProductAttention: (option: object) => hw.scaledDotProductAttention(x, x, x, option),
  "layer.forward": async (option: object) => {
    using layer = await hw.multiHeadAttention({ numHeads: 2, inputDim: 8, weights });
    return await layer.forward(x, option);
  },
  multiHeadAttention: (option: object) => hw.multiHeadAttention({ numHeads: 2, inputDim: 8, weights, ...option }),
  "cache.attend": async (option: object) => {
    using cache = await hw.kvCache({ numKvHeads: 1, headDim: 8 });
    return await cache.attend(x, option);
  },
  kvCache: (option: object) => hw.kvCache({ numKvHeads: 1, headDim: 8, ...option }),
  "layer.kvCache": async (option: object) => {
    using layer = await hw.multiHeadAttention({ numHeads: 2, inputDim: 8, weights });
    return await layer.kvCache(option);
  },
  rotaryEmbedding: (option: object) => hw.rotaryEmbedding(x, option),
  attentionBackward: (option: object) => hw.attentionBackward(option as never),
  createAttention: (option: object) => createAttention(option),
  warmup: (option: object) => hw.warmup({ numHeads: 1, queryLength: 1, headDim: 8 }, option),
} as const;

async function refusal(operation: keyof typeof operations, option: object): Promise<HeadwiseError> {
  const call: Promise<unknown> = operations[operation](option);
  return call.then(
    () => Promise.reject(new Error(`${operation} accepted ${JSON.stringify(option)}`)),
    (error: unknown) => error as HeadwiseError,
  );
}

describe("a name of another package brings ours", () => {
  const cases: [keyof typeof operations, there: string, here: string, difference: RegExp | ""][] = [
    // PyTorch
    ["scaledDotProductAttention", "attn_mask", "mask", /scaled_dot_product_attention is mask as it is/],
    ["layer.forward", "attn_mask", "mask", /nn\.MultiheadAttention hides where it is true: maskFromHiddenPairs/],
    ["cache.attend", "attnMask", "mask", /maskFromHiddenPairs/],
    ["layer.forward", "key_padding_mask", "mask", /hides where it is true; here true = may attend.*maskFromHiddenKeys/],
    [
      "scaledDotProductAttention",
      "is_causal",
      "causal",
      /starts at the first key: causal: "upper-left".*ends at the la/,
    ],
    ["warmup", "is_causal", "causal", /"upper-left"/],
    ["layer.forward", "need_weights", "returns", /returns: \{ probs: \{ average: true \} \}/],
    ["layer.forward", "average_attn_weights", "returns", /returns: \{ probs: true \}/],
    ["layer.forward", "add_zero_attn", "sinks", /a sink of 0/],
    ["multiHeadAttention", "embed_dim", "modelDim", /inputDim, may differ/],
    ["multiHeadAttention", "num_heads", "numHeads", ""],
    ["multiHeadAttention", "kdim", "keyInputDim", ""],
    ["multiHeadAttention", "vdim", "valueInputDim", ""],
    ["multiHeadAttention", "batch_first", "layout", /swap the first two axes/],
    // FlashAttention
    ["scaledDotProductAttention", "softmax_scale", "scale", ""],
    ["scaledDotProductAttention", "window_size", "window", /\{ left: l, right: r \}; a side of -1 is left out/],
    ["scaledDotProductAttention", "alibi_slopes", "alibiSlopes", ""],
    ["scaledDotProductAttention", "cu_seqlens_q", "cuSeqLensQuery", ""],
    ["scaledDotProductAttention", "cu_seqlens_k", "cuSeqLensKey", ""],
    ["cache.attend", "cache_seqlens", "keyLengths", ""],
    ["scaledDotProductAttention", "return_softmax_lse", "returns", /lse: true/],
    // JAX and Keras
    ["scaledDotProductAttention", "query_seq_lengths", "queryLengths", ""],
    ["scaledDotProductAttention", "key_value_seq_lengths", "keyLengths", ""],
    [
      "scaledDotProductAttention",
      "local_window_size",
      "window",
      /JAX's w is \{ left: w, right: w \}.*ONNX Runtime's w/,
    ],
    ["layer.forward", "use_causal_mask", "causal", /"upper-left"/],
    ["layer.forward", "useCausalMask", "causal", /"upper-left"/],
    ["layer.forward", "attention_mask", "mask", /maskFromTokenizer.*1 is a token.*Keras's \[B, T, S\]/],
    ["layer.forward", "return_attention_scores", "returns", /probs: true/],
    ["multiHeadAttention", "key_dim", "modelDim", /numHeads times the width of a head/],
    ["multiHeadAttention", "value_dim", "valueHeadDim", ""],
    // ONNX
    ["scaledDotProductAttention", "q_num_heads", "numHeads", ""],
    ["scaledDotProductAttention", "kv_num_heads", "numKvHeads", ""],
    ["scaledDotProductAttention", "qk_matmul_output_mode", "returns", /scores: "raw".*3 is returns: \{ probs: true \}/],
    ["scaledDotProductAttention", "nonpad_kv_seqlen", "keyLengths", ""],
    ["rotaryEmbedding", "cos_cache", "cos", ""],
    ["rotaryEmbedding", "rotary_embedding_dim", "rotaryDim", /0, for all features, is left out/],
    ["rotaryEmbedding", "position_ids", "positions", ""],
    // transformers
    ["multiHeadAttention", "num_attention_heads", "numHeads", ""],
    ["multiHeadAttention", "num_key_value_heads", "numKvHeads", ""],
    ["multiHeadAttention", "head_dim", "modelDim", /numHeads times/],
    ["multiHeadAttention", "rope_theta", "position", /kind: "rotary", base/],
    ["layer.kvCache", "max_cache_len", "capacity", ""],
    ["kvCache", "num_key_value_heads", "numKvHeads", ""],
    ["kvCache", "head_dim", "headDim", ""],
    ["kvCache", "rope_theta", "rotary", /rotary: \{ base \}/],
    ["kvCache", "sliding_window", "ring", /ring: \{ window \}/],
    ["scaledDotProductAttention", "position_ids", "positions", ""],
    ["layer.forward", "position_ids", "positions", ""],
    ["scaledDotProductAttention", "sliding_window", "window", /\{ left: W - 1 \}, with causal/],
    ["rotaryEmbedding", "rope_theta", "base", ""],
    ["rotaryEmbedding", "rope_scaling", "scaling", ""],
    // llama.cpp
    ["scaledDotProductAttention", "max_bias", "alibiSlopes", /alibiSlopes\(numHeads\) makes those of a max_bias of 8/],
    ["scaledDotProductAttention", "logit_softcap", "softcap", ""],
    // gradients
    ...(
      [
        ["grad_out", "dOutput"],
        ["grad_output", "dOutput"],
        ["dout", "dOutput"],
        ["out", "output"],
        ["logsumexp", "lse"],
        ["softmax_lse", "lse"],
        ["q", "query"],
        ["k", "key"],
        ["v", "value"],
      ] as const
    ).map(([there, here]): [keyof typeof operations, string, string, ""] => ["attentionBackward", there, here, ""]),
    ["layer.forward", "past_key_values", "cache", /hw\.kvCache makes one/],
    ["layer.forward", "output_attentions", "returns", /probs: true/],
  ];

  test.each(cases)("%s: %s is %s", async (operation, there, here, difference) => {
    const error = await refusal(operation, { [there]: 1, ...(there === "num_heads" && { numHeads: 2 }) });
    const said = `${operation}: unknown option "${there}"; did you mean "${here}"?`;
    const differs = error.message.slice(said.length);
    expect(error.message.slice(0, said.length)).toBe(said);
    if (difference) expect(differs).toMatch(difference);
    else expect(differs).toBe("");
    expect(error.hint).toContain("Known options: ");
    expect(error.hint).toContain(here);
  });
});

describe("what there is not is said to be missing", () => {
  test.each<[keyof typeof operations, string, string]>([
    ["scaledDotProductAttention", "training", "without the option dropout nothing is dropped"],
    ["multiHeadAttention", "dropout", "give it to forward: dropout: { rate, seed }"],
    ["scaledDotProductAttention", "enable_gqa", "grouped heads need no switch: leave it out"],
    ["multiHeadAttention", "add_bias_kv", "a learned extra key is not offered"],
    ["multiHeadAttention", "add_zero_attn", "give forward a sink of 0 for each head: sinks"],
    ["scaledDotProductAttention", "deterministic", "results are always deterministic: leave it out"],
    ["scaledDotProductAttention", "kernel_options", "it is chosen from the shape: leave it out"],
    ["scaledDotProductAttention", "implementation", "createAttention chooses the engine, by its option backend"],
    ["scaledDotProductAttention", "past_key_values", "hw.kvCache keeps past keys and values"],
  ])("%s: %s", async (operation, there, why) => {
    const { message } = await refusal(operation, { [there]: 1 });
    expect(message).toContain(`${operation}: unknown option "${there}"; ${why}`);
    expect(message).not.toContain("did you mean");
  });
});

describe("only what the operation has is suggested", () => {
  test.each<[keyof typeof operations, string]>([
    ["multiHeadAttention", "attn_mask"],
    ["multiHeadAttention", "is_causal"],
    ["kvCache", "attn_mask"],
    ["scaledDotProductAttention", "embed_dim"],
    ["rotaryEmbedding", "softmax_scale"],
    ["createAttention", "is_causal"],
  ])("%s: nothing for %s", async (operation, there) => {
    expect((await refusal(operation, { [there]: 1 })).message).toBe(`${operation}: unknown option "${there}"`);
  });
});

test("names one level down are known too", async () => {
  const position = { kind: "rotary", rope_theta: 1e6 };
  expect((await refusal("multiHeadAttention", { position })).message).toBe(
    'multiHeadAttention: unknown option "rope_theta" in position; did you mean "base"?',
  );
  expect((await refusal("multiHeadAttention", { weights: { "q_proj.weight": unit } })).message).toBe(
    'multiHeadAttention: unknown option "q_proj.weight" in weights; did you mean "q_proj_weight"?',
  );
  expect((await refusal("multiHeadAttention", { weights: { "c_attn.weight": unit } })).message).toBe(
    'multiHeadAttention: unknown option "c_attn.weight" in weights; did you mean "Wqkv"? It is stored [in, out], as there.',
  );
  expect((await refusal("scaledDotProductAttention", { returns: { attn_weights: true } })).message).toBe(
    'scaledDotProductAttention: unknown option "attn_weights" in returns; did you mean "probs"?',
  );
});

test("underscores are no reason to find nothing", () => {
  expect(() => relativePositionBias(randomTensor(1, [8, 1]), { query_length: 1, keyLength: 1 } as never)).toThrow(
    'unknown option "query_length"; did you mean "queryLength"?',
  );
});
