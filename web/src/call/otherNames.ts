/**
 * The name in another package, our name for the same thing, and how they differ. If we have no such option, our name is
 * `WITHOUT` and the third entry says what to do.
 */
type Row = readonly [there: string, here: string, difference?: string];

/** Means: headwise has no such option. */
const WITHOUT = "";

const DIAGONAL =
  'The diagonal of PyTorch, JAX and Keras starts at the first key: causal: "upper-left". ' +
  "That of causal: true ends at the last key.";
const TOKENIZER =
  "maskFromTokenizer makes it of a tokenizer's mask [B, S], where 1 is a token. Keras's [B, T, S] becomes [B, 1, T, S].";
const PROBS = "It is returns: { probs: true }.";
const LSE = "It is returns: { lse: true }.";
const DROPOUT = "It is dropout: { rate, seed }.";
const DROPOUT_OF_FORWARD = "give it to forward: dropout: { rate, seed }";
const NO_ENGINE_HERE = "createAttention chooses the engine, by its option backend";
const BY_SHAPE = "it is chosen from the shape: leave it out";
const LENGTHS_BY_SHAPE = "the lengths are read from the shapes: leave it out";
const KV_CACHE = "hw.kvCache keeps past keys and values: append to it, then attend";

const HEADS: readonly Row[] = [
  ["num_attention_heads", "numHeads"],
  ["q_num_heads", "numHeads"],
  ["nhead", "numHeads"],
  ["n_head", "numHeads"],
  ["num_key_value_heads", "numKvHeads"],
  ["kv_num_heads", "numKvHeads"],
  ["n_head_kv", "numKvHeads"],
];

const ANGLES: readonly Row[] = [
  ["rope_theta", "base"],
  ["theta", "base"],
  ["rope_scaling", "scaling"],
  ["rotary_embedding_dim", "rotaryDim", "0, for all features, is left out."],
  ["partial_rotary_factor", "rotaryDim", "It is the factor times the width of a head."],
  ["rotary_interleaved", "interleaved"],
  ["cos_cache", "cos"],
  ["sin_cache", "sin"],
  ["rotary_cos", "cos"],
  ["rotary_sin", "sin"],
  ["position_ids", "positions"],
];

/** Names for scaledDotProductAttention, warmup, layer.forward and cache.attend. */
const CALL: readonly Row[] = [
  ...HEADS,
  // PyTorch
  [
    "attn_mask",
    "mask",
    "A boolean attn_mask of scaled_dot_product_attention is mask as it is. One of nn.MultiheadAttention hides where " +
      "it is true: maskFromHiddenPairs turns it round. A float mask is bias.",
  ],
  [
    "key_padding_mask",
    "mask",
    "PyTorch's hides where it is true; here true = may attend. maskFromHiddenKeys turns it round.",
  ],
  ["is_causal", "causal", DIAGONAL],
  ["need_weights", "returns", "It is returns: { probs: { average: true } }."],
  [
    "average_attn_weights",
    "returns",
    "It is returns: { probs: { average: true } }; without the average, returns: { probs: true }.",
  ],
  ["enable_gqa", WITHOUT, "grouped heads need no switch: leave it out"],
  ["add_zero_attn", "sinks", "It is a sink of 0 for each head."],
  ["add_bias_kv", WITHOUT, "a learned extra key is not offered: append it to key and value"],
  ["batch_first", WITHOUT, "the batch is the first axis of every layout: leave it out"],
  ["dropout_p", "dropout", DROPOUT],
  ["dropout_rate", "dropout", DROPOUT],
  ["dropout_rng", "dropout", DROPOUT],
  ["training", WITHOUT, "without the option dropout nothing is dropped"],
  // FlexAttention
  [
    "score_mod",
    "score",
    'It is a formula of headwise/formula, a text: formula("s - slope[h] * abs(q - k)", { slope }).',
  ],
  ["mask_mod", "visible", 'It is a formula of headwise/formula, a text: formula("doc[q] == doc[k]", { doc }).'],
  ["block_mask", "visible", "It is the formula that create_block_mask gets as mask_mod; blocks are found without it."],
  // FlashAttention
  ["softmax_scale", "scale"],
  ["window_size", "window", "(l, r) is { left: l, right: r }; a side of -1 is left out."],
  ["cu_seqlens_q", "cuSeqLensQuery"],
  ["cu_seqlens_k", "cuSeqLensKey"],
  ["cu_seqlens_kv", "cuSeqLensKey"],
  ["max_seqlen_q", WITHOUT, LENGTHS_BY_SHAPE],
  ["max_seqlen_k", WITHOUT, LENGTHS_BY_SHAPE],
  ["seqused_q", "queryLengths"],
  ["seqused_k", "keyLengths"],
  ["cache_seqlens", "keyLengths"],
  ["return_attn_probs", "returns", PROBS],
  ["return_softmax_lse", "returns", LSE],
  ["learnable_sink", "sinks"],
  ["deterministic", WITHOUT, "results are always deterministic: leave it out"],
  ["num_splits", WITHOUT, BY_SHAPE],
  ["pack_gqa", WITHOUT, BY_SHAPE],
  ["block_table", WITHOUT, "paged caches are not offered"],
  ["page_table", WITHOUT, "paged caches are not offered"],
  // JAX and Keras
  ["query_seq_lengths", "queryLengths"],
  ["key_value_seq_lengths", "keyLengths"],
  [
    "local_window_size",
    "window",
    "JAX's w is { left: w, right: w }, its (l, r) is { left: l, right: r }. ONNX Runtime's w is { left: w - 1, right: 0 }.",
  ],
  ["return_residual", "returns", LSE],
  ["implementation", WITHOUT, NO_ENGINE_HERE],
  ["attention_mask", "mask", TOKENIZER],
  ["use_causal_mask", "causal", DIAGONAL],
  ["return_attention_scores", "returns", PROBS],
  ["query_mask", "queryLengths", "It is the number of leading queries that are tokens, for each batch."],
  ["key_mask", "mask", "Its shape becomes [B, 1, 1, S]."],
  ["value_mask", "mask", "Its shape becomes [B, 1, 1, S]."],
  // ONNX and ONNX Runtime
  [
    "qk_matmul_output_mode",
    "returns",
    '0, 1 and 2 are returns: { scores: "raw" }, "softcapped" and "biased"; 3 is returns: { probs: true }.',
  ],
  ["nonpad_kv_seqlen", "keyLengths"],
  ["left_window_size", "window", "It is window: { left }; -1 is left out."],
  ["right_window_size", "window", "It is window: { right }; -1 is left out."],
  ["softmax_precision", WITHOUT, "sums always run in float32: leave it out"],
  ["precision", WITHOUT, "sums always run in float32: leave it out"],
  ["unidirectional", "causal"],
  ["attention_bias", "bias"],
  ["relative_position_bias", "bias"],
  ["seqlens_k", "keyLengths", "ONNX Runtime's is the index of the last key: keyLengths is one more."],
  ["head_sink", "sinks"],
  ["smooth_softmax", "sinks", "It is a sink of 0 for each head."],
  ["past_key", "cache", "hw.kvCache makes one."],
  ["past_key", WITHOUT, KV_CACHE],
  ["past_value", "cache", "hw.kvCache makes one."],
  ["past_value", WITHOUT, KV_CACHE],
  // transformers
  ["past_key_values", "cache", "hw.kvCache makes one."],
  ["past_key_values", WITHOUT, KV_CACHE],
  ["past_key_value", "cache", "hw.kvCache makes one."],
  ["past_key_value", WITHOUT, KV_CACHE],
  ["use_cache", "cache", "hw.kvCache makes one."],
  ["output_attentions", "returns", PROBS],
  ["sliding_window", "window", "W keys, the query's own among them, are { left: W - 1 }, with causal."],
  ["position_ids", "queryOffset", "It is the position of the first query."],
  ["cache_position", "queryOffset", "It is the position of the first query."],
  ["encoder_hidden_states", "key"],
  ["key_value_states", "key"],
  ["encoder_attention_mask", "mask", TOKENIZER],
  ["head_mask", "headGain"],
  ["attn_logit_softcapping", "softcap"],
  ["query_pre_attn_scalar", "scale", "It is 1 / √query_pre_attn_scalar."],
  ["s_aux", "sinks"],
  ["attn_implementation", WITHOUT, NO_ENGINE_HERE],
];

/** Names for multiHeadAttention. */
const LAYER: readonly Row[] = [
  ...HEADS,
  ["embed_dim", "modelDim", "The width of x, inputDim, may differ from it here."],
  ["hidden_size", "inputDim", "The width of all heads together is modelDim."],
  ["d_model", "inputDim", "The width of all heads together is modelDim."],
  ["n_embd", "inputDim", "The width of all heads together is modelDim."],
  ["qkv_features", "modelDim"],
  ["head_dim", "modelDim", "It is numHeads times the width of a head."],
  ["key_dim", "modelDim", "It is numHeads times the width of a head."],
  ["value_dim", "valueHeadDim"],
  ["v_head_dim", "valueHeadDim"],
  ["kdim", "keyInputDim"],
  ["vdim", "valueInputDim"],
  ["in_features", "inputDim"],
  ["out_features", "outputDim"],
  ["output_shape", "outputDim"],
  ["use_bias", "bias"],
  ["attention_bias", "bias"],
  [
    "batch_first",
    "layout",
    'layout: "BSE" has the batch first. batch_first=False, [S, B, E], is not offered: swap the first two axes.',
  ],
  ["add_bias_kv", WITHOUT, "a learned extra key is not offered: append it to the contexts key and value"],
  ["add_zero_attn", WITHOUT, "give forward a sink of 0 for each head: sinks"],
  ["dropout", WITHOUT, DROPOUT_OF_FORWARD],
  ["dropout_p", WITHOUT, DROPOUT_OF_FORWARD],
  ["dropout_rate", WITHOUT, DROPOUT_OF_FORWARD],
  ["attention_dropout", WITHOUT, DROPOUT_OF_FORWARD],
  ["attention_axes", WITHOUT, "positions are one axis: reshape x"],
  ["attn_implementation", WITHOUT, NO_ENGINE_HERE],
  ["rope_theta", "position", 'It is position: { kind: "rotary", base }.'],
  ["rope_scaling", "position", 'It is position: { kind: "rotary", scaling }.'],
  ["partial_rotary_factor", "position", 'It is position: { kind: "rotary", rotaryDim }.'],
  ["do_rotary", "position", 'It is position: { kind: "rotary" }.'],
  ["use_qk_norm", "qkNorm"],
];

const CACHE: readonly Row[] = [
  ...HEADS,
  ["max_position_embeddings", "capacity"],
  ["max_cache_len", "capacity"],
  ["max_batch_size", "batchSize"],
  ["sliding_window", "ring", "It is ring: { window }."],
  ["value_dim", "valueDim"],
  ["rope_theta", "rotary", "It is rotary: { base }."],
  ["rope_scaling", "rotary", "It is rotary: { scaling }."],
  ["partial_rotary_factor", "rotary", "It is rotary: { rotaryDim }."],
];

/** Names for the options of an operation. Operations that are absent here use `CALL`. */
const OF_OPERATION: Readonly<Record<string, readonly Row[]>> = {
  multiHeadAttention: LAYER,
  kvCache: CACHE,
  rotaryEmbedding: [...HEADS, ...ANGLES],
  attentionBackward: [
    // PyTorch
    ["grad_out", "dOutput"],
    ["grad_output", "dOutput"],
    ["out", "output"],
    ["logsumexp", "lse"],
    ["grad_logsumexp", "dLse"],
    // FlashAttention
    ["dout", "dOutput"],
    ["softmax_lse", "lse"],
    ["dsoftmax_lse", "dLse"],
    ["dlse", "dLse"],
    ["q", "query"],
    ["k", "key"],
    ["v", "value"],
    ...CALL,
  ],
  createAttention: [
    ["num_threads", "threads"],
    ["executionProviders", "backend"],
    ["wasmPaths", "wasm"],
  ],
};

const STORED_OUT_IN = "It is stored [out, in], as there.";

/** Names for nested options, by the last part of their path. */
const OF_PATH: Readonly<Record<string, readonly Row[]>> = {
  position: ANGLES,
  rotary: ANGLES,
  scaling: [
    ["rope_type", "kind"],
    ["type", "kind"],
    ["original_max_position_embeddings", "originalLength"],
  ],
  qkNorm: [
    ["eps", "epsilon"],
    ["weight", "gain"],
  ],
  returns: [
    ["attn_weights", "probs"],
    ["attn_output_weights", "probs"],
    ["attentions", "probs"],
    ["softmax_lse", "lse"],
    ["logsumexp", "lse"],
  ],
  weights: [
    ["query.weight", "q_proj_weight", STORED_OUT_IN],
    ["key.weight", "k_proj_weight", STORED_OUT_IN],
    ["value.weight", "v_proj_weight", STORED_OUT_IN],
    ["q_proj.bias", "bq"],
    ["k_proj.bias", "bk"],
    ["v_proj.bias", "bv"],
    ["query.bias", "bq"],
    ["key.bias", "bk"],
    ["value.bias", "bv"],
    ["o_proj.weight", "out_proj.weight", STORED_OUT_IN],
    ["o_proj.bias", "out_proj.bias"],
    ["proj.weight", "out_proj.weight", STORED_OUT_IN],
    ["proj.bias", "out_proj.bias"],
    ["qkv.weight", "in_proj_weight", STORED_OUT_IN],
    ["qkv.bias", "in_proj_bias"],
    ["c_attn.weight", "Wqkv", "It is stored [in, out], as there."],
    ["c_attn.bias", "bqkv"],
    ["c_proj.weight", "Wo", "It is stored [in, out], as there."],
    ["c_proj.bias", "bo"],
  ],
  // inputs and attributes of the ONNX operators
  inputs: [
    ["query", "Q"],
    ["key", "K"],
    ["value", "V"],
    ["mask", "attn_mask"],
    ["attention_mask", "attn_mask", "Its shape becomes [B, 1, 1, S]."],
    ["bias", "attn_mask"],
    ["attention_bias", "attn_mask"],
    ["key_padding_mask", "attn_mask", "true = may attend, and its shape becomes [B, 1, 1, S]."],
    ["keyLengths", "nonpad_kv_seqlen"],
    ["seqlens_k", "nonpad_kv_seqlen", "It is the index of the last key: nonpad_kv_seqlen is one more."],
    ["input", "X"],
    ["x", "input"],
    ["cos", "cos_cache"],
    ["sin", "sin_cache"],
    ["positions", "position_ids"],
  ],
  attributes: [
    ["causal", "is_causal"],
    ["unidirectional", "is_causal"],
    ["num_heads", "q_num_heads"],
    ["num_kv_heads", "kv_num_heads"],
    ["window", "left_window_size", "The other side is right_window_size."],
    ["local_window_size", "left_window_size", "ONNX Runtime's w is left_window_size w - 1 and right_window_size 0."],
    ["rotaryDim", "rotary_embedding_dim"],
    ["dim", "axis"],
  ],
};

/** No package has an option with a longer name. A caller's name may have megabytes. */
const LONGEST_NAME = 100;

/**
 * A hint for an unknown option that another package has: our name for it, if it is one of `known`, and the difference;
 * or what to do without it. Returns undefined if the option is in no table.
 *
 * @param path - Where the option is: "" for the options themselves, "returns" for `options.returns`.
 */
export function otherName(operation: string, path: string, name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const inside = insideOf(path, name, known);
  if (inside !== undefined) return inside;
  const plain = letters(name);
  const written = known.find((here) => letters(here) === plain);
  if (written !== undefined) return didYouMean(written);
  const table = path === "" ? (OF_OPERATION[operation] ?? CALL) : (OF_PATH[path.split(".").at(-1)!] ?? []);
  const rows = table.filter(([there]) => letters(there) === plain);
  const [, here, difference] = rows.find(([, ours]) => ours === WITHOUT || known.includes(ours)) ?? [];
  if (here === undefined) return undefined;
  return here === WITHOUT ? difference : didYouMean(here, difference);
}

/** What `returns` of some operation has. */
const RETURNED = ["output", "probs", "topK", "lse", "entropy", "scores"];

/** A hint for a name that belongs to another place: into `returns`, into the options, or under a shorter name. */
function insideOf(path: string, name: string, known: readonly string[]): string | undefined {
  if (path === "" && known.includes("returns") && RETURNED.includes(name))
    return `put it in returns: { returns: { ${name}: ${name === "topK" ? "{ k: 5 }" : name === "scores" ? '"raw"' : "true"} } }`;
  if (path === "" && known.includes("cache") && (name === "data" || name === "shape"))
    return "contexts of keys and values are options: { key, value }";
  const whole = path === "weights" ? known.find((here) => name.endsWith(`.${here}`)) : undefined;
  if (whole !== undefined)
    return `${didYouMean(whole)} Take the prefix ${JSON.stringify(name.slice(0, -whole.length))} off the names`;
  return undefined;
}

/** A name in a form that does not depend on its style: num_heads and numHeads become equal. */
function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function didYouMean(here: string, difference?: string): string {
  return `did you mean ${JSON.stringify(here)}?${difference ? ` ${difference}` : ""}`;
}
