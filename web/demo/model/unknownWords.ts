import { t } from "../texts/t.js";
import { graphemes } from "./graphemes.js";
import { readable } from "./names.js";
import { wordsInPieces, type Tokens } from "./writtenWords.js";

/** How many of them are named. */
const MOST_NAMES = 3;
/** From this share of words in pieces on, and from so many, a text is told to be read in pieces. */
const MANY = { share: 1 / 3, words: 2 } as const;

/** What of a text the model reads in pieces or does not know, and why: sentences after a space. "" if there is nothing to tell. */
export function unknownWords(encoding: Tokens): string {
  const told = [manyPieces(encoding), unknownTokens(encoding)].join("");
  return told === "" ? "" : t` The model was trained on English.` + told;
}

function manyPieces(encoding: Tokens): string {
  if (!hasManyPieces(encoding)) return "";
  const { pieced, words } = wordsInPieces(encoding);
  const [longest] = pieced.toSorted((a, b) => graphemes(b).length - graphemes(a).length);
  return t` It reads ${pieced.length} of ${words} words in pieces, such as “${longest!}”.`;
}

/** Whether so many words are read in pieces that the text may be of another language. */
export function hasManyPieces(encoding: Tokens): boolean {
  const { pieced, words } = wordsInPieces(encoding);
  return pieced.length >= MANY.words && pieced.length >= MANY.share * words;
}

function unknownTokens({ tokens, unknown }: Tokens): string {
  if (unknown.length === 0) return "";
  const all = [...new Set(unknown.map((token) => t`“${readable(tokens[token]!)}”`))];
  const names = all.slice(0, MOST_NAMES).join(", ");
  const named = all.length > MOST_NAMES ? t`${names} and ${all.length - MOST_NAMES} more` : names;
  if (all.length === 1) return t` It does not know ${named}.`;
  return t` It does not know ${named}: it reads them all as the same unknown token.`;
}
