import type { ActivationName } from "./activations.js";
import { only, tokens } from "./configField.js";

/** The kinds of models that `loadModel` reads: `model_type` of config.json. */
export const MODEL_TYPES = ["bert", "gpt2", "llama", "mistral", "qwen2", "qwen3"] as const;

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
  /** The longest text that the model was made for, in tokens (`max_position_embeddings`, `n_positions`). */
  readonly maxLength: number;
  /** The function inside of feed-forward blocks (`hidden_act`, `activation_function`). */
  readonly activation: ActivationName;
  /** Added to the variance in norms (`layer_norm_eps`, `rms_norm_eps`, `layer_norm_epsilon`). */
  readonly epsilon: number;
  /** Tokens that end a text (`eos_token_id`). */
  readonly stopTokens: readonly number[];
}

/** The fields that every kind of model has. */
export const COMMON = {
  stopTokens: tokens("eos_token_id"),
  unquantised: only("quantization_config", undefined),
};
