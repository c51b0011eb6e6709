// Words as they are written. The model has 8,000 pieces: it reads a word that is none of them as several pieces.

import type { Encoding } from "./encoder.js";
import { printable } from "./names.js";

/** What of an encoding says which words it has. */
export type Tokens = Pick<Encoding, "tokens" | "unknown" | "tokensLeftOut">;

/** Signs without a letter or a digit are no words. */
const hasLetters = (text: string) => /[\p{L}\p{N}]/u.test(text);

/**
 * The indices of the tokens of each word, from one space to the next, signs included. The last word is left out if it may go
 * on in tokens that are left out.
 */
function writtenWords({ tokens, tokensLeftOut }: Tokens): number[][] {
  const words: number[][] = [];
  tokens.forEach((token, i) => {
    if (token.startsWith("▁") || words.length === 0) words.push([]);
    words.at(-1)!.push(i);
  });
  return tokensLeftOut > 0 ? words.slice(0, -1) : words;
}

/** The indices of the words that are one token each, and that the model knows. */
export function knownWords(encoding: Tokens): number[] {
  const { tokens, unknown } = encoding;
  return writtenWords(encoding).flatMap((word) => {
    const [first, ...others] = word.filter((i) => hasLetters(tokens[i]!));
    const isWhole = first === word[0] && first !== undefined && others.length === 0;
    return isWhole && !unknown.includes(first) ? [first] : [];
  });
}

/** The words that are read in pieces, and how many words there are. A sign inside of a word, as in “it’s”, makes no pieces. */
export function wordsInPieces(encoding: Tokens): { readonly pieced: readonly string[]; readonly words: number } {
  const { tokens } = encoding;
  const words = writtenWords(encoding).filter((word) => word.some((i) => hasLetters(tokens[i]!)));
  const isPieced = (word: readonly number[]) => word.some((i, at) => at > 0 && hasLetters(tokens[i - 1]!) && hasLetters(tokens[i]!)); // oxfmt-ignore
  return { pieced: words.filter(isPieced).map((word) => nameOf(word, tokens)), words: words.length };
}

/** A word without the signs around it. */
function nameOf(word: readonly number[], tokens: readonly string[]): string {
  const text = word.map((i) => tokens[i]!).join("");
  return printable(text.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, ""));
}
