import type { Anatomy } from "../../../model/anatomy.js";
import type { EncodeOptions } from "../../../model/encoder.js";
import { MOST_TOKENS, type Settings } from "./settings.js";

/** A sentence as the encoder reads it with positions, and without. */
export interface Reading {
  readonly placed: Anatomy;
  readonly unplaced: Anatomy;
}

/** The options with which the lesson reads. */
export const optionsOf = (positions: boolean): EncodeOptions => ({ positions, mostTokens: MOST_TOKENS });

/** The sentence to read. Spaces alone are none. */
export function sentenceOf({ text }: Pick<Settings, "text">): string {
  return text.trim() === "" ? "" : text;
}

/** Reads a sentence. `first` came with the page, so that the model need not be loaded for it. */
export async function read(
  text: string,
  anatomy: (text: string, options: EncodeOptions) => Promise<Anatomy>,
  first?: Reading,
): Promise<Reading> {
  if (first?.placed.text === text) return first;
  return { placed: await anatomy(text, optionsOf(true)), unplaced: await anatomy(text, optionsOf(false)) };
}
