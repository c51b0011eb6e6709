import { Characters } from "../train/characters.js";
import { asParameters, type Parameters, type PositionKind } from "../train/model.js";
import { readStored } from "../train/storedWeights.js";

/** What a decoder was made with, as the file beside its weights says. */
export interface DecoderConfig {
  readonly kind: "text" | "sums";
  /** The tokens: one character each, in the order of their numbers. */
  readonly characters: string;
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
    readonly minutes?: number;
  };
  /** Text that it has not learned from. */
  readonly sample?: string;
  /** The character after which nothing more is written. */
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
  if (typeof read?.characters !== "string" || typeof read.layers !== "number")
    throw new Error("the decoder’s description has no characters or no layers");
  return { config: read, parameters: asParameters(readStored(bytes)) };
}

/** The numbers of the characters of a text. What the decoder does not know is left out. */
export function tokensOf(text: string, { characters }: DecoderConfig): Int32Array {
  return new Characters(characters).ids(text);
}

export function textOf(tokens: Iterable<number>, { characters }: DecoderConfig): string {
  return new Characters(characters).text(tokens);
}
