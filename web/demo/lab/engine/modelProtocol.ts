import type { HeadKind } from "headwise/inspect";
import type { ModelPlan, Precision } from "headwise/models";

import type { HeadPlace } from "../shell/headPlace.js";
import type { Difference } from "./difference.js";
import type { HubModel } from "./hubModels.js";
import type { EngineChoice, Failure } from "./protocol.js";

export type { HeadPlace };

/**
 * What a head can be made to do: to give nothing, to give the mean of its rows in every row, to look at the first token
 * only, or at the token before.
 */
export const CHANGE_KINDS = ["off", "mean", "first", "previous"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface HeadChange extends HeadPlace {
  readonly kind: ChangeKind;
}

/** What a model reads, and what is changed in it. */
export interface ModelOrder {
  /** Text for the tokenizer, or the numbers of tokens; no numbers: random ones that are repeated. */
  readonly input: { readonly text: string } | { readonly numbers: readonly number[] };
  /** The token at which the prediction is shown; undefined: the last one, or BERT's first hidden one. */
  readonly at: number | undefined;
  readonly changes: readonly HeadChange[];
  /** The token whose heads are looked for: it is always one of the candidates. undefined: none. */
  readonly word: number | undefined;
  /** The smallest score with which a habit of a head is told. */
  readonly threshold: number;
}

/** What is known of a model before it computes. */
export interface ModelFacts {
  readonly type: string;
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly vocabulary: number;
  /** The most tokens that are read. */
  readonly longest: number;
  readonly hasTokenizer: boolean;
  /** Whether it predicts the next token. BERT predicts hidden ones. */
  readonly isCausal: boolean;
  readonly bytes: number;
  readonly threads: number;
}

/** What a head does, by its score without changes and with them. */
export interface Habit extends HeadPlace {
  readonly kind: HeadKind;
  /** Of a positional head: where it looks, counted from its own token. */
  readonly offset?: number;
  readonly before: number;
  readonly now: number;
}

/** A token with its probability, without changes and with them. */
export interface Candidate {
  readonly token: number;
  readonly label: string;
  readonly before: number;
  readonly now: number;
}

/** What the changes do: to the prediction, or, in a model without one, to the last hidden states. */
export type Effect =
  | {
      readonly kind: "prediction";
      /** The likeliest ones, with changes or without. */
      readonly candidates: readonly Candidate[];
      /** The share of probability that goes to other tokens. */
      readonly moved: number;
    }
  /** For each token, the cosine of its last hidden state with that without changes. */
  | { readonly kind: "states"; readonly cosines: readonly number[] };

/** What a model does with some tokens. */
export interface Seen {
  readonly tokens: readonly number[];
  /** The tokens in writing. */
  readonly labels: readonly string[];
  /** How many more there were than the room reads. */
  readonly left: number;
  /** The token at which the prediction is shown. */
  readonly at: number;
  /** For each layer, weights [heads, tokens, tokens], with the changes. */
  readonly probs: readonly Float32Array[];
  readonly habits: readonly Habit[];
  readonly effect: Effect;
}

/** The log-odds of a token: with all heads, and with each head switched off alone. */
export interface WordStudy {
  readonly word: number;
  readonly layers: number;
  readonly heads: number;
  readonly all: number;
  /** One number for each head, layer by layer. While the study runs, those of the last heads are missing. */
  readonly without: readonly number[];
}

/** Where the files of a model come from: files of the visitor by name, or the hub; undefined: the example. */
export type ModelSource = { readonly files: Readonly<Record<string, Blob>> } | HubModel | undefined;

export type ModelRequest =
  /** Says what would be loaded. */
  | { readonly kind: "plan"; readonly from: ModelSource; readonly engine: EngineChoice }
  /** Loads what was planned. */
  | { readonly kind: "open"; readonly precision: Precision }
  | { readonly kind: "see"; readonly order: ModelOrder }
  /** Compares the weights of a head, without changes, with double precision. */
  | { readonly kind: "check"; readonly order: ModelOrder; readonly place: HeadPlace }
  /** Studies the word of the order, and ends the study before this one. Without an order it only ends that. */
  | { readonly kind: "study"; readonly id: number; readonly order: ModelOrder | undefined };

export type ModelReply =
  | { readonly kind: "progress"; readonly loaded: number; readonly total: number }
  | { readonly kind: "planned"; readonly plan: ModelPlan }
  | { readonly kind: "opened"; readonly facts: ModelFacts }
  | { readonly kind: "seen"; readonly seen: Seen }
  | { readonly kind: "checked"; readonly differences: readonly Difference[] }
  /** What a study knows so far. `id` is that of its request. */
  | { readonly kind: "studied"; readonly id: number; readonly study: WordStudy }
  | { readonly kind: "unstudied"; readonly id: number; readonly reason: Failure }
  | { readonly kind: "failed"; readonly reason: Failure };
