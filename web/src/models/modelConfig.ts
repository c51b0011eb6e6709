import type { ActivationName } from "./activations.js";
import { empty, only, refuse, texts, tokens, type Field } from "./configField.js";

/** The kinds of models that `loadModel` reads: `model_type` of config.json. */
export const MODEL_TYPES = ["bert", "gpt2", "llama", "mistral", "qwen2", "qwen3", "phi3"] as const;

export type ModelType = (typeof MODEL_TYPES)[number];

/** A checked configuration. In parentheses are the names in config.json; GPT-2's are the second ones. */
export interface ModelConfig {
  /** `model_type` */
  readonly modelType: ModelType;
  /** The number of tokens that there are (`vocab_size`). */
  readonly vocabSize: number;
  /** The width of hidden states (`hidden_size`, `n_embd`). */
  readonly modelDim: number;
  /** The width inside of feed-forward blocks (`intermediate_size`, `n_inner`). */
  readonly hiddenDim: number;
  /** The number of blocks (`num_hidden_layers`, `n_layer`). */
  readonly numLayers: number;
  /** The number of query heads (`num_attention_heads`, `n_head`). */
  readonly numHeads: number;
  /** The number of key and value heads (`num_key_value_heads`). */
  readonly numKvHeads: number;
  /** The width of a head (`head_dim`). */
  readonly headDim: number;
  /** The longest text that the model was made for, in tokens (`max_position_embeddings`, `n_positions`; with longrope that of its training). */
  readonly maxLength: number;
  /** The function inside of feed-forward blocks (`hidden_act`, `activation_function`). */
  readonly activation: ActivationName;
  /** Added to the variance in norms (`layer_norm_eps`, `rms_norm_eps`, `layer_norm_epsilon`). */
  readonly epsilon: number;
  /** Tokens that end a text (`eos_token_id` of generation_config.json, otherwise of config.json). */
  readonly stopTokens: readonly number[];
}

/** The fields that every kind of model has. */
export const COMMON = {
  stopTokens: tokens("eos_token_id"),
  encoderDecoder: only("is_encoder_decoder", false),
  crossAttention: only("add_cross_attention", false),
  pruned: empty("pruned_heads"),
};

/** The names of the classes that the files were saved from. */
export const ARCHITECTURES = texts("architectures");

/** What the classes of decoders in `architectures` end in. */
export const DECODER_HEADS = ["Model", "ForCausalLM", "LMHeadModel"];

/**
 * `architectures`: the classes that the files were saved from, such as BertForMaskedLM. What comes after the family's name
 * is the head. Other heads, such as classifiers, would be ignored.
 */
export function headOf(heads: readonly string[]): Field<void> {
  const known = new RegExp(`^(TF|Flax)?(${MODEL_TYPES.join("|")})(${heads.join("|")})$`, "i");
  const examples = heads.map((head) => `"…${head}"`).join(" or ");
  return (json) => {
    if (ARCHITECTURES(json).every((name) => known.test(name))) return;
    throw refuse(
      json,
      "architectures",
      `be ${examples}, because other heads are not computed`,
      "To compute the model without its head, take `architectures` out of config.json.",
    );
  };
}

/** Only the fields of a configuration, of an object that may have more. */
export function modelConfig(of: ModelConfig): ModelConfig {
  const { modelType, vocabSize, modelDim, hiddenDim, numLayers, numHeads, numKvHeads, headDim, maxLength } = of;
  const { activation, epsilon, stopTokens } = of;
  return {
    modelType,
    vocabSize,
    modelDim,
    hiddenDim,
    numLayers,
    numHeads,
    numKvHeads,
    headDim,
    maxLength,
    activation,
    epsilon,
    stopTokens,
  };
}
