import type { CacheDtype } from "headwise";

import type { DecoderConfig } from "../../generate/decoderFile.js";
import type { Taking } from "../../generate/sampling.js";
import type { Difference } from "./difference.js";
import type { ExperimentOrder, ExperimentResult } from "./experimentProtocol.js";
import type { PronounStudy } from "./pronounProtocol.js";
import type { EngineChoice, Failure } from "./protocol.js";

export type DecoderName = DecoderConfig["kind"];

/** What to write, and how keys and values are kept. */
export interface Writing extends Taking {
  readonly beginning: string;
  readonly seed: number;
  readonly dtype: CacheDtype;
  readonly ring: { readonly keepFirst: number; readonly window: number } | undefined;
  /** One factor for each head of each layer: 0 switches it off. Missing ones are 1. */
  readonly gains: readonly (readonly number[])[];
}

/** A cache that reads the text, and what its numbers do to the next token. */
export interface CacheState {
  readonly name: CacheDtype | "whole";
  readonly bytes: number;
  readonly tokens: number;
  /** The largest change of a chance of the next token, against float32; undefined for float32 itself. */
  readonly change: number | undefined;
  /** Whether the text is written with it. */
  readonly isWriter: boolean;
}

/** The text, and what the decoder says after it. */
export interface Written {
  readonly tokens: Int32Array;
  /** How many of them the visitor has typed. */
  readonly begun: number;
  /** What the same model writes with all heads on, if some are off. */
  readonly twin: Int32Array | undefined;
  /** A score for each token that may come next. */
  readonly scores: Float32Array;
  /** For each layer, what the heads of the newest token look at: [heads, tokens kept]. */
  readonly weights: readonly Float32Array[];
  /** Where in the text the tokens that are kept stand. */
  readonly places: readonly number[];
  readonly caches: readonly CacheState[];
  /** Tokens in a second, of the cache that writes alone. */
  readonly speed: number | undefined;
}

/** How much a text surprises the decoder, in nats a token, with three ways to keep it; in groups of tokens. */
export interface Endless {
  readonly whole: readonly number[];
  readonly sinks: readonly number[];
  readonly window: readonly number[];
  readonly group: number;
}

export type GenerateRequest =
  | { readonly kind: "open"; readonly decoder: DecoderName; readonly engine: EngineChoice }
  /** Reads the beginning. What is written from it has its number. */
  | { readonly kind: "begin"; readonly beginning: number; readonly writing: Writing }
  /** From now on tokens are taken so. */
  | { readonly kind: "take"; readonly taking: Taking }
  | { readonly kind: "write"; readonly tokens: number }
  /** Writes this token, which the visitor has chosen. */
  | { readonly kind: "choose"; readonly token: number }
  | { readonly kind: "stop" }
  | { readonly kind: "endless"; readonly window: number; readonly keepFirst: number }
  /** Asks all heads what the pronouns mean: in stories that the decoder has not seen, and in what is written. */
  | { readonly kind: "ask" }
  | { readonly kind: "try"; readonly order: ExperimentOrder }
  | { readonly kind: "check" };

export type GenerateReply =
  | { readonly kind: "opened"; readonly config: DecoderConfig; readonly threads: number }
  | { readonly kind: "written"; readonly beginning: number; readonly written: Written; readonly isDone: boolean }
  | { readonly kind: "endless"; readonly endless: Endless; readonly isDone: boolean }
  /** No study: something else was asked for before it was done. */
  | { readonly kind: "asked"; readonly study: PronounStudy | undefined }
  | { readonly kind: "tried"; readonly result: ExperimentResult }
  | { readonly kind: "checked"; readonly differences: readonly Difference[] }
  | { readonly kind: "failed"; readonly reason: Failure };
