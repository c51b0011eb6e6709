import type { Floats } from "../tensor/plainTensor.js";
import type { ModelConfig } from "./modelConfig.js";
import type { AttentionPart, Linear } from "./parts.js";
import type { Pass } from "./pass.js";
import type { TokenBatch } from "./tokens.js";

/** What goes into a model. */
export interface ModelInput extends TokenBatch {
  /** The kind of each token, for BERT. */
  readonly tokenTypes?: TokenBatch | undefined;
}

/** A model of some family: what all of them offer. */
export interface Network {
  readonly config: ModelConfig;
  /** The attention layers, from the first to the last. */
  readonly attention: readonly AttentionPart[];
  /** Whether it predicts the next token, and not hidden ones. */
  readonly isCausal: boolean;
  /** How many kinds of tokens there are; undefined: it does not use kinds. */
  readonly numTokenTypes?: number;
  /** The longest text that it can read; undefined: no limit. */
  readonly limit: number | undefined;
  /** From tokens `[…, S]` to the last hidden state `[…, S, modelDim]`. */
  readonly hidden: (input: ModelInput, pass: Pass) => Promise<Floats>;
  /** From hidden states `[…, modelDim]` to scores of tokens `[…, vocabSize]`; undefined if the files have no head. */
  readonly logits: Linear | undefined;
  /** From the last hidden state `[…, S, modelDim]` to one row for each text; undefined if the files have none. */
  readonly pooled?: Linear | undefined;
}

/** The positions of tokens: `[S]`, from `start` on. */
export function positionsOf({ shape }: TokenBatch, start: number): { data: Int32Array; shape: number[] } {
  const length = shape.at(-1)!;
  return { data: Int32Array.from({ length }, (_, token) => start + token), shape: [length] };
}
