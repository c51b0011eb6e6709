import type { ActivationName } from "./activations.js";
import { count, refuse, texts, type Json } from "./configField.js";
import type { Family } from "./family.js";
import { times } from "./times.js";

/** The kinds of models that `loadModel` reads: `model_type` of config.json. */
export const MODEL_TYPES = [
  "bert",
  "gpt2",
  "llama",
  "mistral",
  "qwen2",
  "qwen3",
  "phi3",
  "roberta",
  "xlm-roberta",
  "distilbert",
  "mpnet",
  "gpt_neox",
  "gpt_neo",
  "gemma",
  "gemma2",
  "gemma3_text",
  "opt",
  "modernbert",
] as const;

export type ModelType = (typeof MODEL_TYPES)[number];

/** A checked configuration. In parentheses are usual names in config.json; families have others too. */
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
  /** Tokens that end a text (`eos_token_id` of generation_config.json, otherwise of config.json), those of them that there are. */
  readonly stopTokens: readonly number[];
  /** What the scores of a classifier are called (`id2label`). Empty: the model is no classifier. */
  readonly labels: readonly string[];
}

/** The names of the classes that the files were saved from. */
export const ARCHITECTURES = texts("architectures");

/** Whether a class that the files were saved from has a head that scores tokens. */
export const hasWordHead = (json: Json) =>
  ARCHITECTURES(json).some((name) => /(LM|LMHeadModel|ForPreTraining)$/.test(name));

/** Heads whose scores belong to labels. */
const LABEL_CLASSES = { sequence: "ForSequenceClassification", tokens: "ForTokenClassification" } as const;

export type LabelClass = keyof typeof LABEL_CLASSES;

/**
 * Reads `architectures`: the classes that the files were saved from, such as BertForMaskedLM. What comes after the family's
 * name is the head. Heads that the family does not have would be ignored.
 *
 * @returns Which head gives scores of labels, if one does.
 */
export function labelClassOf(json: Json, { className, heads }: Family): LabelClass | undefined {
  const kinds = (Object.keys(LABEL_CLASSES) as LabelClass[]).filter((kind) => heads[kind]);
  const endings = [...heads.classes, ...kinds.map((kind) => LABEL_CLASSES[kind])];
  const known = new RegExp(`^(TF|Flax)?${className}(${endings.join("|")})$`, "i");
  const names = ARCHITECTURES(json);
  if (!names.every((name) => known.test(name)))
    throw refuse(
      json,
      "architectures",
      `be ${endings.map((head) => `"…${head}"`).join(" or ")}, because other heads are not computed`,
      "To compute the model without its head, take `architectures` out of config.json.",
    );
  return kinds.find((kind) => names.some((name) => name.endsWith(LABEL_CLASSES[kind])));
}

/**
 * `auto_map`: classes of Python code that lies beside the weights. Those with the family's own names are the code from which
 * the family came into transformers; what others compute is not known. Tokenizers do not matter here.
 */
export function refuseOtherClasses(json: Json, { className }: Family): void {
  const own = new RegExp(`(^|\\.)${className}(Config|(LMHead|PreTrained)?Model|For[A-Z]\\w*)$`);
  const given = json.value("auto_map") ?? {};
  const models = Object.entries(given).filter(([name]) => !/^Auto(Tokenizer|Processor)$/.test(name));
  if (!models.every(([, name]) => typeof name === "string" && own.test(name)))
    throw refuse(
      json,
      "auto_map",
      `name classes of ${className} only, because others may compute something else`,
      "If the model computes what its model_type does, take `auto_map` out of config.json.",
    );
}

/** `id2label`, in the order of its numbers. Without it there are `num_labels`, or two, with the names of transformers. */
export function labelsOf(json: Json): readonly string[] {
  const given = json.value("id2label") ?? times(count("num_labels", 2)(json), (n) => `LABEL_${n}`);
  const entries = Object.entries(given).sort(([a], [b]) => Number(a) - Number(b));
  const labels = entries.map(([, label]) => label as unknown);
  if (labels.length > 0 && entries.every(([id, label], n) => id === `${n}` && typeof label === "string"))
    return labels as string[];
  throw refuse(json, "id2label", "have a text for each number from 0 on");
}
