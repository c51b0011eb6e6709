import type { LayerPosition } from "../layer/layerPosition.js";
import type { StepActivation } from "../step/stepProblem.js";
import type { ActivationName } from "./activations.js";
import {
  count,
  empty,
  MOST_BLOCKS,
  only,
  optional,
  tokens,
  type Field,
  type FieldName,
  type Json,
} from "./configField.js";
import type { RotaryForm } from "./rotaryField.js";

/**
 * A family of models, as a description: how config.json calls its sizes, how files call its tensors, and how its parts work
 * together. `network` computes what it says. Names are those of published files, without `.weight` and `.bias`.
 */
export interface Family {
  /** What the names of its classes begin with: `Bert` of BertForMaskedLM. */
  readonly className: string;
  readonly fields: FamilyFields;
  /** More fields, of which only some values are supported. */
  readonly fixed: readonly Field<unknown>[];
  /** Some files lack it at the beginning of names: those of a model without a head. */
  readonly prefix: string;
  /** Whether a token sees only itself and earlier ones, and the model predicts the next one. */
  readonly isCausal: boolean;
  readonly norm: NormForm;
  /** How its matrices are stored. Default: `[out, in]`. */
  readonly weightLayout?: "in-out";
  readonly embeddings: Embeddings;
  /** The name of its blocks, without their number. */
  readonly blocks: string;
  /** Names inside of a block follow it. */
  readonly attention: AttentionForm;
  readonly feedForward: FeedForwardForm;
  /** Whether both halves of a block read the same x. Default: the second reads what the first gives. */
  readonly isParallel?: Field<boolean>;
  /** The norm after the last block. */
  readonly lastNorm?: string;
  readonly heads: Heads;
}

/** The fields of config.json that every family has, under its own names. */
export interface FamilyFields {
  readonly vocabSize: Field<number>;
  readonly modelDim: Field<number>;
  /** Undefined: 4 · modelDim. */
  readonly hiddenDim: Field<number | undefined>;
  readonly numLayers: Field<number>;
  readonly numHeads: Field<number>;
  /** Default: numHeads. */
  readonly numKvHeads?: Field<number | undefined>;
  /** Default: modelDim / numHeads. */
  readonly headDim?: Field<number | undefined>;
  readonly maxLength: Field<number>;
  readonly activation: Field<ActivationName>;
  readonly epsilon: Field<number>;
  /** Whether the head multiplies by the table of words. */
  readonly isTied: Field<boolean>;
  /** Tokens that end a text. Default: `stopTokens()`. */
  readonly stopTokens?: Field<readonly number[]>;
}

export interface NormForm {
  readonly kind: "layer" | "rms";
  /** Whether layer norms have a bias. Default: they have. */
  readonly bias?: Field<boolean>;
  /** What is added to stored gains. */
  readonly plus?: number;
}

export interface Embeddings {
  readonly words: string;
  /** A factor of the rows of words. */
  readonly factor?: (modelDim: number) => number;
  readonly positions?: LearnedPositions;
  /** Kinds of tokens, and the field that counts them. */
  readonly kinds?: { readonly name: string; readonly count: Field<number> };
  readonly norm?: string;
}

/** A table of positions. */
export interface LearnedPositions {
  readonly name: string;
  /** Default: row p is that of position p. */
  readonly counted?: CountedPositions;
}

/** Positions that count the tokens of a text: the n-th that counts has row `zero` + n, from n = 1, the others have row `zero`. */
export interface CountedPositions {
  readonly zero: Field<number>;
  /** Which tokens count: those that are not the number `zero`, or those that the mask shows. */
  readonly counts: "others" | "shown";
  /** Whether the field of the longest text counts rows of the table. Otherwise it counts tokens. */
  readonly isOfRows: boolean;
}

/** Norms of half a block: x ← closing(x + after(half(before(x)))). */
export interface HalfNorms {
  readonly before?: string;
  readonly after?: string;
  readonly closing?: string;
}

export interface AttentionForm {
  /** What transformers calls it, for hooks. */
  readonly hook: string;
  readonly norms: HalfNorms;
  /** Whether `norms.before` is missing in the first block. */
  readonly isFirstBare?: boolean;
  /** Three maps, or one whose rows are those of all queries, keys and values, or of each head in turn. */
  readonly inputs:
    | readonly [query: string, key: string, value: string]
    | { readonly packed: string; readonly by: "roles" | "heads" };
  readonly output: string;
  /** Default: it has none. */
  readonly biases?: Field<Biases>;
  /** RMS norms of every head's queries and keys. */
  readonly headNorms?: readonly [query: string, key: string];
  /** How positions turn queries and keys. */
  readonly rotary?: (json: Json, form: RotaryForm, layer: LayerPlace) => LayerPosition;
  /** A factor of scores. Default: 1 / √headDim. */
  readonly scale?: (json: Json, layer: LayerPlace, headDim: number) => number;
  readonly softcap?: Field<number | undefined>;
  /** How many tokens a token sees to the left, itself included, and to the right of itself. Undefined: all. */
  readonly window?: (json: Json, layer: LayerPlace) => number | undefined;
  /** Learned biases of scores by distance, which all blocks share. */
  readonly distances?: { readonly name: string; readonly rows: FieldName };
}

/** Which of its attention's maps have biases. */
export interface Biases {
  readonly input: boolean;
  readonly output: boolean;
}

export interface LayerPlace {
  readonly layer: number;
  readonly numLayers: number;
}

export interface FeedForwardForm {
  readonly norms: HalfNorms;
  /** down(activation(up(x))), or with a gate down(activation(gate(x)) · up(x)). `packed` has gate and up in one matrix. */
  readonly inputs: { readonly up: string; readonly gate?: string } | { readonly packed: string };
  readonly down: string;
  readonly bias: Field<boolean>;
}

/** What comes after the last hidden state. */
export interface Heads {
  /** What the names of its classes end in, besides those of `sequence` and `tokens`. */
  readonly classes: readonly string[];
  readonly words?: WordHead;
  /** From the first token of a text, through tanh. */
  readonly pooler?: string;
  /** Scores of labels for a text: the class …ForSequenceClassification. */
  readonly sequence?: LabelHead;
  /** Scores of labels for each token: the class …ForTokenClassification. */
  readonly tokens?: LabelHead;
}

/** decoder(norm(activation(dense(x)))), or the decoder alone. */
export interface WordHead {
  readonly dense?: Dense;
  readonly norm?: string;
  readonly decoder: string;
  /** The name of the decoder's bias, if it is not that of the decoder; false: it has none. */
  readonly bias: string | false;
  readonly softcap?: Field<number | undefined>;
}

export interface LabelHead {
  readonly dense?: Dense;
  readonly norm?: string;
  readonly decoder: string;
  /** Which rows go in, for a text. Default: that of the first token. */
  readonly pooling?: Field<"cls" | "mean">;
}

export interface Dense {
  readonly name: string;
  /** Default: the model's. */
  readonly activation?: StepActivation;
  /** Default: it has one. */
  readonly bias?: Field<boolean>;
}

/** The names that most families have for sizes. */
export const USUAL_SIZES = {
  vocabSize: count("vocab_size"),
  modelDim: count("hidden_size"),
  hiddenDim: count("intermediate_size"),
  numLayers: count("num_hidden_layers", undefined, MOST_BLOCKS),
  numHeads: count("num_attention_heads"),
};

/** The longest text: by two names, of which the second is that of 2023. */
export function lengthOf(absent: number): Field<number> {
  const [newer, older] = ["max_position_embeddings", "max_sequence_length"];
  return (json) => {
    const [first, second] = [optional(newer, count(newer))(json), optional(older, count(older))(json)];
    return first ?? second ?? absent;
  };
}

/** The number of key and value heads: `absent` if nothing says it, and that of the query heads if it is `null`. */
export function kvHeads(absent: number): Field<number | undefined> {
  const name = "num_key_value_heads";
  return (json) => (json.isNull(name) ? undefined : count(name, absent)(json));
}

/** Tokens that end a text: `absent` if nothing says it, none if it is `null`. */
export const stopTokens = (...absent: number[]) => tokens("eos_token_id", absent);

/** Fields that every family has. */
export const FIXED = [
  only("is_encoder_decoder", false),
  only("add_cross_attention", false),
  empty("pruned_heads"),
] as const;

/** Of models that predict hidden tokens. */
export const ENCODER = [...FIXED, only("is_decoder", false), only("is_causal", false)] as const;

/** Of models that predict the next token. */
export const DECODER = [...FIXED, only("is_causal", true)] as const;

/** What the classes of models that predict the next token end in. */
export const DECODER_CLASSES = ["Model", "ForCausalLM", "LMHeadModel"];

/** All maps of attention have biases. */
export const ALL_BIASES: Field<Biases> = () => ({ input: true, output: true });

export const yes: Field<boolean> = () => true;
export const no: Field<boolean> = () => false;
