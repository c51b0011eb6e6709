/**
 * The name in another package, our name for the same thing, and how they differ. If we have no such option, our name is
 * `WITHOUT` and the third entry says what to do.
 */
export type OtherName = readonly [there: string, here: string, difference?: string];

/** Means: headwise has no such option. */
export const WITHOUT = "";

const DIAGONAL =
  'The diagonal of PyTorch, JAX and Keras starts at the first key: causal: "upper-left". ' +
  "That of causal: true ends at the last key.";
const TOKENIZER =
  "maskFromTokenizer makes it of a tokenizer's mask [B, S], where 1 is a token. Keras's [B, T, S] becomes [B, 1, T, S].";
const PROBS = "It is returns: { probs: true }.";
const LSE = "It is returns: { lse: true }.";
const DROPOUT = "It is dropout: { rate, seed }.";
export const NO_ENGINE_HERE = "createAttention chooses the engine, by its option backend";
const BY_SHAPE = "it is chosen from the shape: leave it out";
const LENGTHS_BY_SHAPE = "the lengths are read from the shapes: leave it out";
const KV_CACHE = "hw.kvCache keeps past keys and values: append to it, then attend";

export const HEADS: readonly OtherName[] = [
  ["num_attention_heads", "numHeads"],
  ["q_num_heads", "numHeads"],
  ["nhead", "numHeads"],
  ["n_head", "numHeads"],
  ["num_key_value_heads", "numKvHeads"],
  ["kv_num_heads", "numKvHeads"],
  ["n_head_kv", "numKvHeads"],
];

/** Names for scaledDotProductAttention, warmup, layer.forward and cache.attend. */
export const CALL: readonly OtherName[] = [
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
  ["kernel_options", WITHOUT, BY_SHAPE],
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
  ["position_ids", "positions"],
  ["cache_position", "queryOffset", "It is the position of the first query."],
  ["encoder_hidden_states", "key"],
  ["key_value_states", "key"],
  ["encoder_attention_mask", "mask", TOKENIZER],
  ["head_mask", "headGain"],
  ["attn_logit_softcapping", "softcap"],
  ["query_pre_attn_scalar", "scale", "It is 1 / √query_pre_attn_scalar."],
  ["s_aux", "sinks"],
  ["attn_implementation", WITHOUT, NO_ENGINE_HERE],
  // llama.cpp
  ["max_bias", "alibiSlopes", "The function alibiSlopes(numHeads) makes those of a max_bias of 8."],
  ["logit_softcap", "softcap"],
];

/** Names for `returns` of any operation. */
const RETURNS: readonly OtherName[] = [
  ["attn_weights", "probs"],
  ["attn_output_weights", "probs"],
  ["attentions", "probs"],
  ["softmax_lse", "lse"],
  ["logsumexp", "lse"],
];

/** No package has an option with a longer name. A caller's name may have megabytes. */
const LONGEST_NAME = 100;

/**
 * A hint for an unknown option that another package has: our name for it, if it is one of `known`, and the difference;
 * or what to do without it. Returns undefined if the option is in no table.
 *
 * @param path - Where the option is: "" for the options themselves, "returns" for `options.returns`.
 * @param others - The names that other packages have for these options.
 */
export function otherName(
  path: string,
  name: string,
  known: readonly string[],
  others = usualNames(path),
): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const inside = insideOf(path, name, known);
  if (inside !== undefined) return inside;
  const plain = letters(name);
  const written = known.find((here) => letters(here) === plain);
  if (written !== undefined) return didYouMean(written);
  const rows = others.filter(([there]) => letters(there) === plain);
  const [, here, difference] = rows.find(([, ours]) => ours === WITHOUT || known.includes(ours)) ?? [];
  if (here === undefined) return undefined;
  return here === WITHOUT ? difference : didYouMean(here, difference);
}

/** The names for options whose reader names none. */
function usualNames(path: string): readonly OtherName[] {
  if (path === "") return CALL;
  return path === "returns" ? RETURNS : [];
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
