// Configurations of published models, shrunk, and the names and shapes of the tensors in their files.

import * as reference from "./familyReference.js";
import type { Asked, Config, FamilyResult } from "./familyReference.js";

type Shapes = Readonly<Record<string, readonly number[]>>;

const [WORDS, WIDTH, INNER, HEADS, LAYERS, LENGTH] = [29, 16, 24, 4, 2, 32];

const dense = (name: string, from: number, to: number, hasBias = true): Shapes => ({
  [`${name}.weight`]: [to, from],
  ...(hasBias && { [`${name}.bias`]: [to] }),
});
const norm = (name: string): Shapes => ({ [`${name}.weight`]: [WIDTH], [`${name}.bias`]: [WIDTH] });
const gain = (name: string, width = WIDTH): Shapes => ({ [`${name}.weight`]: [width] });
const table = (name: string, rows = WORDS, width = WIDTH): Shapes => ({ [`${name}.weight`]: [rows, width] });
const each = (count: number, map: (n: number) => Shapes): Shapes =>
  Object.assign({}, ...Array.from({ length: count }, (_, n) => map(n))) as Shapes;
const maps = (at: string, names: readonly string[], hasBias = true): Shapes =>
  Object.assign({}, ...names.map((name) => dense(`${at}.${name}`, WIDTH, WIDTH, hasBias))) as Shapes;

export interface FamilyModel {
  readonly config: Config;
  readonly shapes: Shapes;
  readonly compute: (asked: Asked) => FamilyResult;
  /** The name of the second attention layer in transformers. */
  readonly layer: string;
}

/** Fields that RoBERTa and MPNet have alike. */
const OF_ROBERTA = {
  attention_probs_dropout_prob: 0.1,
  bos_token_id: 0,
  eos_token_id: 2,
  hidden_act: "gelu",
  hidden_dropout_prob: 0.1,
  hidden_size: WIDTH,
  initializer_range: 0.02,
  intermediate_size: INNER,
  layer_norm_eps: 1e-5,
  max_position_embeddings: LENGTH + 2,
};

/** FacebookAI/roberta-base and xlm-roberta-base. */
function robertaModel(model_type: string, architecture: string): FamilyModel {
  const config = {
    architectures: [architecture],
    ...OF_ROBERTA,
    model_type,
    num_attention_heads: HEADS,
    num_hidden_layers: LAYERS,
    output_past: true,
    pad_token_id: 1,
    position_embedding_type: "absolute",
    transformers_version: "4.17.0.dev0",
    type_vocab_size: 1,
    use_cache: true,
    vocab_size: WORDS,
  };
  const shapes = {
    ...table("roberta.embeddings.word_embeddings"),
    ...table("roberta.embeddings.position_embeddings", LENGTH + 2),
    ...table("roberta.embeddings.token_type_embeddings", 1),
    ...norm("roberta.embeddings.LayerNorm"),
    ...each(LAYERS, (n) => ({
      ...maps(`roberta.encoder.layer.${n}.attention`, ["self.query", "self.key", "self.value", "output.dense"]),
      ...norm(`roberta.encoder.layer.${n}.attention.output.LayerNorm`),
      ...dense(`roberta.encoder.layer.${n}.intermediate.dense`, WIDTH, INNER),
      ...dense(`roberta.encoder.layer.${n}.output.dense`, INNER, WIDTH),
      ...norm(`roberta.encoder.layer.${n}.output.LayerNorm`),
    })),
    "lm_head.bias": [WORDS],
    ...dense("lm_head.dense", WIDTH, WIDTH),
    ...norm("lm_head.layer_norm"),
  };
  return { config, shapes, compute: reference.roberta, layer: "encoder.layer.1.attention" };
}

/** distilbert/distilbert-base-uncased */
const distilbert: FamilyModel = {
  config: {
    activation: "gelu",
    architectures: ["DistilBertForMaskedLM"],
    attention_dropout: 0.1,
    dim: WIDTH,
    dropout: 0.1,
    hidden_dim: INNER,
    initializer_range: 0.02,
    max_position_embeddings: LENGTH,
    model_type: "distilbert",
    n_heads: HEADS,
    n_layers: LAYERS,
    pad_token_id: 0,
    qa_dropout: 0.1,
    seq_classif_dropout: 0.2,
    sinusoidal_pos_embds: false,
    tie_weights_: true,
    transformers_version: "4.10.0.dev0",
    vocab_size: WORDS,
  },
  shapes: {
    ...table("distilbert.embeddings.word_embeddings"),
    ...table("distilbert.embeddings.position_embeddings", LENGTH),
    ...norm("distilbert.embeddings.LayerNorm"),
    ...each(LAYERS, (n) => ({
      ...maps(`distilbert.transformer.layer.${n}.attention`, ["q_lin", "k_lin", "v_lin", "out_lin"]),
      ...norm(`distilbert.transformer.layer.${n}.sa_layer_norm`),
      ...dense(`distilbert.transformer.layer.${n}.ffn.lin1`, WIDTH, INNER),
      ...dense(`distilbert.transformer.layer.${n}.ffn.lin2`, INNER, WIDTH),
      ...norm(`distilbert.transformer.layer.${n}.output_layer_norm`),
    })),
    ...dense("vocab_transform", WIDTH, WIDTH),
    ...norm("vocab_layer_norm"),
    "vocab_projector.bias": [WORDS],
  },
  compute: reference.distilbert,
  layer: "transformer.layer.1.attention",
};

/** microsoft/mpnet-base */
const mpnet: FamilyModel = {
  config: {
    architectures: ["MPNetForMaskedLM"],
    ...OF_ROBERTA,
    model_type: "mpnet",
    num_attention_heads: HEADS,
    num_hidden_layers: LAYERS,
    pad_token_id: 1,
    relative_attention_num_buckets: 32,
    vocab_size: WORDS,
  },
  shapes: {
    ...table("mpnet.embeddings.word_embeddings"),
    ...table("mpnet.embeddings.position_embeddings", LENGTH + 2),
    ...norm("mpnet.embeddings.LayerNorm"),
    ...each(LAYERS, (n) => ({
      ...maps(`mpnet.encoder.layer.${n}.attention.attn`, ["q", "k", "v", "o"]),
      ...norm(`mpnet.encoder.layer.${n}.attention.LayerNorm`),
      ...dense(`mpnet.encoder.layer.${n}.intermediate.dense`, WIDTH, INNER),
      ...dense(`mpnet.encoder.layer.${n}.output.dense`, INNER, WIDTH),
      ...norm(`mpnet.encoder.layer.${n}.output.LayerNorm`),
    })),
    ...table("mpnet.encoder.relative_attention_bias", 32, HEADS),
    "lm_head.bias": [WORDS],
    ...dense("lm_head.dense", WIDTH, WIDTH),
    ...norm("lm_head.layer_norm"),
  },
  compute: reference.mpnet,
  layer: "encoder.layer.1.attention",
};

/** EleutherAI/pythia-70m, with wider heads: a half of each turns. */
const gptNeoX: FamilyModel = {
  config: {
    architectures: ["GPTNeoXForCausalLM"],
    bos_token_id: 0,
    eos_token_id: 0,
    hidden_act: "gelu",
    hidden_size: WIDTH,
    initializer_range: 0.02,
    intermediate_size: INNER,
    layer_norm_eps: 1e-5,
    max_position_embeddings: LENGTH,
    model_type: "gpt_neox",
    num_attention_heads: HEADS,
    num_hidden_layers: LAYERS,
    rotary_emb_base: 10000,
    rotary_pct: 0.5,
    tie_word_embeddings: false,
    torch_dtype: "float16",
    transformers_version: "4.24.0",
    use_cache: true,
    use_parallel_residual: true,
    vocab_size: WORDS,
  },
  shapes: {
    ...table("gpt_neox.embed_in"),
    ...each(LAYERS, (n) => ({
      ...norm(`gpt_neox.layers.${n}.input_layernorm`),
      ...norm(`gpt_neox.layers.${n}.post_attention_layernorm`),
      ...dense(`gpt_neox.layers.${n}.attention.query_key_value`, WIDTH, 3 * WIDTH),
      ...dense(`gpt_neox.layers.${n}.attention.dense`, WIDTH, WIDTH),
      ...dense(`gpt_neox.layers.${n}.mlp.dense_h_to_4h`, WIDTH, INNER),
      ...dense(`gpt_neox.layers.${n}.mlp.dense_4h_to_h`, INNER, WIDTH),
    })),
    ...norm("gpt_neox.final_layer_norm"),
    ...table("embed_out"),
  },
  compute: reference.gptNeoX,
  layer: "gpt_neox.layers.1.attention",
};

/** EleutherAI/gpt-neo-125m */
const gptNeo: FamilyModel = {
  config: {
    activation_function: "gelu_new",
    architectures: ["GPTNeoForCausalLM"],
    attention_dropout: 0,
    attention_layers: ["global", "local"],
    attention_types: [[["global", "local"], 1]],
    bos_token_id: 28,
    embed_dropout: 0,
    eos_token_id: 28,
    gradient_checkpointing: false,
    hidden_size: WIDTH,
    initializer_range: 0.02,
    intermediate_size: null,
    layer_norm_epsilon: 1e-5,
    max_position_embeddings: LENGTH,
    model_type: "gpt_neo",
    num_heads: HEADS,
    num_layers: LAYERS,
    resid_dropout: 0,
    summary_activation: null,
    summary_first_dropout: 0.1,
    summary_proj_to_labels: true,
    summary_type: "cls_index",
    summary_use_proj: true,
    transformers_version: "4.9.0.dev0",
    use_cache: true,
    vocab_size: WORDS,
    window_size: 3,
  },
  shapes: {
    ...table("transformer.wte"),
    ...table("transformer.wpe", LENGTH),
    ...each(LAYERS, (n) => ({
      ...norm(`transformer.h.${n}.ln_1`),
      ...maps(`transformer.h.${n}.attn.attention`, ["k_proj", "v_proj", "q_proj"], false),
      ...dense(`transformer.h.${n}.attn.attention.out_proj`, WIDTH, WIDTH),
      ...norm(`transformer.h.${n}.ln_2`),
      ...dense(`transformer.h.${n}.mlp.c_fc`, WIDTH, 4 * WIDTH),
      ...dense(`transformer.h.${n}.mlp.c_proj`, 4 * WIDTH, WIDTH),
    })),
    ...norm("transformer.ln_f"),
  },
  compute: reference.gptNeo,
  layer: "transformer.h.1.attn",
};

const HEAD = 8;
const GEMMA = {
  attention_bias: false,
  attention_dropout: 0,
  bos_token_id: 2,
  eos_token_id: 1,
  head_dim: HEAD,
  hidden_act: "gelu_pytorch_tanh",
  hidden_activation: "gelu_pytorch_tanh",
  hidden_size: WIDTH,
  initializer_range: 0.02,
  intermediate_size: INNER,
  max_position_embeddings: LENGTH,
  num_attention_heads: HEADS,
  num_hidden_layers: LAYERS,
  num_key_value_heads: 2,
  pad_token_id: 0,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  torch_dtype: "bfloat16",
  use_cache: true,
  vocab_size: WORDS,
};

const gemmaShapes = (norms: readonly string[], layers = LAYERS, hasHeadNorms = false): Shapes => ({
  ...table("model.embed_tokens"),
  ...each(layers, (n) => {
    const at = `model.layers.${n}`;
    return {
      ...(Object.assign({}, ...norms.map((name) => gain(`${at}.${name}`))) as Shapes),
      ...dense(`${at}.self_attn.q_proj`, WIDTH, HEADS * HEAD, false),
      ...dense(`${at}.self_attn.k_proj`, WIDTH, 2 * HEAD, false),
      ...dense(`${at}.self_attn.v_proj`, WIDTH, 2 * HEAD, false),
      ...dense(`${at}.self_attn.o_proj`, HEADS * HEAD, WIDTH, false),
      ...(hasHeadNorms && { ...gain(`${at}.self_attn.q_norm`, HEAD), ...gain(`${at}.self_attn.k_norm`, HEAD) }),
      ...dense(`${at}.mlp.gate_proj`, WIDTH, INNER, false),
      ...dense(`${at}.mlp.up_proj`, WIDTH, INNER, false),
      ...dense(`${at}.mlp.down_proj`, INNER, WIDTH, false),
    };
  }),
  ...gain("model.norm"),
});

const AROUND = [
  "input_layernorm",
  "post_attention_layernorm",
  "pre_feedforward_layernorm",
  "post_feedforward_layernorm",
];

/** google/gemma-2b, whose first configuration calls the tanh form of GELU "gelu" */
const gemma: FamilyModel = {
  config: {
    ...GEMMA,
    architectures: ["GemmaForCausalLM"],
    hidden_act: "gelu",
    hidden_activation: null,
    model_type: "gemma",
    rope_scaling: null,
    transformers_version: "4.38.0.dev0",
  },
  shapes: gemmaShapes(["input_layernorm", "post_attention_layernorm"]),
  compute: (asked) => reference.gemma(1, asked),
  layer: "model.layers.1.self_attn",
};

/** google/gemma-2-2b */
const gemma2: FamilyModel = {
  config: {
    ...GEMMA,
    architectures: ["Gemma2ForCausalLM"],
    attn_logit_softcapping: 3,
    cache_implementation: "hybrid",
    final_logit_softcapping: 20,
    model_type: "gemma2",
    query_pre_attn_scalar: 11,
    sliding_window: 3,
    transformers_version: "4.42.4",
  },
  shapes: gemmaShapes(AROUND),
  compute: (asked) => reference.gemma(2, asked),
  layer: "model.layers.1.self_attn",
};

/** google/gemma-3-1b-it */
const gemma3: FamilyModel = {
  config: {
    ...GEMMA,
    architectures: ["Gemma3ForCausalLM"],
    attn_logit_softcapping: null,
    cache_implementation: "hybrid",
    eos_token_id: [1, 10],
    final_logit_softcapping: null,
    hidden_act: undefined,
    model_type: "gemma3_text",
    query_pre_attn_scalar: 11,
    rope_local_base_freq: 100,
    rope_scaling: null,
    rope_theta: 1000000,
    sliding_window: 3,
    sliding_window_pattern: 2,
    transformers_version: "4.50.0.dev0",
  },
  shapes: gemmaShapes(AROUND, LAYERS, true),
  compute: (asked) => reference.gemma(3, asked),
  layer: "model.layers.1.self_attn",
};

/** facebook/opt-125m */
const opt: FamilyModel = {
  config: {
    _remove_final_layer_norm: false,
    activation_dropout: 0,
    activation_function: "relu",
    architectures: ["OPTForCausalLM"],
    attention_dropout: 0,
    bos_token_id: 2,
    do_layer_norm_before: true,
    dropout: 0.1,
    eos_token_id: 2,
    ffn_dim: INNER,
    hidden_size: WIDTH,
    init_std: 0.02,
    layerdrop: 0,
    max_position_embeddings: LENGTH,
    model_type: "opt",
    num_attention_heads: HEADS,
    num_hidden_layers: LAYERS,
    pad_token_id: 1,
    prefix: "</s>",
    torch_dtype: "float16",
    transformers_version: "4.21.0.dev0",
    use_cache: true,
    vocab_size: WORDS,
    word_embed_proj_dim: WIDTH,
  },
  shapes: {
    ...table("model.decoder.embed_tokens"),
    ...table("model.decoder.embed_positions", LENGTH + 2),
    ...norm("model.decoder.final_layer_norm"),
    ...each(LAYERS, (n) => ({
      ...maps(`model.decoder.layers.${n}.self_attn`, ["k_proj", "v_proj", "q_proj", "out_proj"]),
      ...norm(`model.decoder.layers.${n}.self_attn_layer_norm`),
      ...dense(`model.decoder.layers.${n}.fc1`, WIDTH, INNER),
      ...dense(`model.decoder.layers.${n}.fc2`, INNER, WIDTH),
      ...norm(`model.decoder.layers.${n}.final_layer_norm`),
    })),
  },
  compute: reference.opt,
  layer: "model.decoder.layers.1.self_attn",
};

/** answerdotai/ModernBERT-base */
const modernBert: FamilyModel = {
  config: {
    architectures: ["ModernBertForMaskedLM"],
    attention_bias: false,
    attention_dropout: 0,
    bos_token_id: 2,
    classifier_activation: "gelu",
    classifier_bias: false,
    classifier_dropout: 0,
    classifier_pooling: "mean",
    cls_token_id: 2,
    decoder_bias: true,
    deterministic_flash_attn: false,
    embedding_dropout: 0,
    eos_token_id: 3,
    global_attn_every_n_layers: 3,
    global_rope_theta: 160000,
    gradient_checkpointing: false,
    hidden_activation: "gelu",
    hidden_size: WIDTH,
    initializer_cutoff_factor: 2,
    initializer_range: 0.02,
    intermediate_size: INNER,
    layer_norm_eps: 1e-5,
    local_attention: 4,
    local_rope_theta: 10000,
    max_position_embeddings: LENGTH,
    mlp_bias: false,
    mlp_dropout: 0,
    model_type: "modernbert",
    norm_bias: false,
    norm_eps: 1e-5,
    num_attention_heads: HEADS,
    num_hidden_layers: 2 * LAYERS,
    pad_token_id: 1,
    position_embedding_type: "absolute",
    reference_compile: null,
    repad_logits_with_grad: false,
    sep_token_id: 3,
    sparse_pred_ignore_index: -100,
    sparse_prediction: false,
    torch_dtype: "float32",
    transformers_version: "4.47.0.dev0",
    vocab_size: WORDS,
  },
  shapes: {
    ...table("model.embeddings.tok_embeddings"),
    ...gain("model.embeddings.norm"),
    ...each(2 * LAYERS, (n) => ({
      ...(n > 0 && gain(`model.layers.${n}.attn_norm`)),
      ...dense(`model.layers.${n}.attn.Wqkv`, WIDTH, 3 * WIDTH, false),
      ...dense(`model.layers.${n}.attn.Wo`, WIDTH, WIDTH, false),
      ...gain(`model.layers.${n}.mlp_norm`),
      ...dense(`model.layers.${n}.mlp.Wi`, WIDTH, 2 * INNER, false),
      ...dense(`model.layers.${n}.mlp.Wo`, INNER, WIDTH, false),
    })),
    ...gain("model.final_norm"),
    ...dense("head.dense", WIDTH, WIDTH, false),
    ...gain("head.norm"),
    "decoder.bias": [WORDS],
  },
  compute: reference.modernBert,
  layer: "layers.1.attn",
};

export const FAMILY_MODELS = {
  roberta: robertaModel("roberta", "RobertaForMaskedLM"),
  "xlm-roberta": robertaModel("xlm-roberta", "XLMRobertaForMaskedLM"),
  distilbert,
  mpnet,
  gpt_neox: gptNeoX,
  gpt_neo: gptNeo,
  gemma,
  gemma2,
  gemma3_text: gemma3,
  opt,
  modernbert: modernBert,
};

export type FamilyName = keyof typeof FAMILY_MODELS;

/** The shapes with a head for labels in place of that for words. */
export function labelShapes(shapes: Shapes, head: Shapes): Shapes {
  const kept = Object.entries(shapes).filter(([name]) => !/^(lm_head|vocab_|decoder\.bias)/.test(name));
  return { ...Object.fromEntries(kept), ...head };
}
