import type { EncodeOptions, Encoding } from "../../../model/encoder.js";
import { headsOf, type Head } from "../../../model/heads.js";
import { tokenNames } from "../../../model/names.js";

/** What is computed of the sentence that is shown. */
export interface Seen {
  /** As it is shown: with the visitor's changes, and with positions or without. */
  readonly shown: Encoding;
  /** The same without changes to heads and tokens. */
  readonly original: Encoding;
  /** With the changes, told where the words stand; and not told. One of them is `shown`. */
  readonly placed: Encoding;
  readonly unplaced: Encoding;
  /** The options of `shown`. */
  readonly options: EncodeOptions;
  /** The head that is shown, counted over both layers. */
  readonly head: number;
}

export function namesOf({ shown }: Pick<Seen, "shown">): string[] {
  return tokenNames(shown.tokens);
}

export function shownHead({ shown, head }: Pick<Seen, "shown" | "head">): Head {
  return headsOf(shown)[head]!;
}

export function isChanged({ original, shown }: Pick<Seen, "original" | "shown">): boolean {
  return original !== shown;
}

/** Whether no token may be attended to. */
export function isBlind({ shown, options }: Pick<Seen, "shown" | "options">): boolean {
  return shown.tokens.length > 0 && (options.hiddenTokens ?? []).length === shown.tokens.length;
}
