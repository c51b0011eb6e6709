import { Characters } from "../train/characters.js";
import type { HeadLoss, StoryFigures } from "../train/storyFigures.js";
import type { Vocabulary } from "../train/vocabulary.js";
import { Words } from "../train/words.js";
import { asParameters, type Parameters, type PositionKind } from "../train/model.js";
import { readStored } from "../train/storedWeights.js";

/** What a decoder was made with, as the file beside its weights says. */
export interface DecoderConfig {
  readonly kind: "text" | "sums";
  /** The tokens of a decoder of characters, in the order of their numbers. */
  readonly characters?: string;
  /** The tokens of a decoder of words, in the order of their numbers. */
  readonly words?: readonly string[];
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly position: PositionKind;
  /** The number of tokens of the sequences that it has learned from. */
  readonly context: number;
  /** What it has learned from. */
  readonly source: string;
  readonly figures: {
    readonly parameters: number;
    /** On text that it has not learned from. */
    readonly natsPerCharacter?: number;
    /** The share of sums that it has not learned and answers rightly. */
    readonly exact?: number;
    /** Of a decoder of stories. */
    readonly stories?: StoryFigures;
    /** What it can do without each of its heads. */
    readonly withoutHead?: readonly HeadLoss[];
    readonly minutes?: number;
  };
  /** Text that it has not learned from. */
  readonly sample?: string;
  /** The token that stands before every text, and is not shown. */
  readonly start?: string;
  /** The token after which nothing more is written. */
  readonly end?: string;
  /** Whether the digits of a sum are written from the last one to the first. */
  readonly reversed?: boolean;
}

export interface DecoderFile {
  readonly config: DecoderConfig;
  readonly parameters: Parameters;
}

/** Reads a decoder from its two files. */
export function readDecoder(config: unknown, bytes: Uint8Array): DecoderFile {
  const read = config as DecoderConfig;
  if ((typeof read?.characters !== "string" && !Array.isArray(read?.words)) || typeof read.layers !== "number")
    throw new Error("the decoder’s description has no characters or words, or no layers");
  return { config: read, parameters: asParameters(readStored(bytes)) };
}

/** What the numbers of a decoder stand for. */
export function vocabularyOf({ words, characters }: DecoderConfig): Vocabulary {
  return words ? new Words(words) : new Characters(characters ?? "");
}

/** The numbers of a text, with the start before it. What the decoder does not know is left out. */
export function tokensOf(text: string, config: DecoderConfig): Int32Array {
  return vocabularyOf(config).ids((config.start ?? "") + text);
}

export function textOf(tokens: Iterable<number>, config: DecoderConfig): string {
  return vocabularyOf(config).text(tokens);
}

/** What the tokens of a decoder are, for people: "character" or "word". */
export function unitOf({ words }: DecoderConfig): "character" | "word" {
  return words ? "word" : "character";
}
