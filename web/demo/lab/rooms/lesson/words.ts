import type { Anatomy } from "../../../model/anatomy.js";
import { hasManyPieces, unknownWords } from "../../../model/unknownWords.js";
import { wordsInPieces } from "../../../model/writtenWords.js";
import { counted } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { MOST_TOKENS } from "./settings.js";

/** How the sentence was read. */
export function readWords(anatomy: Anatomy): string {
  const { tokens, tokensLeftOut } = anatomy;
  const hasFew = wordsInPieces(anatomy).pieced.length > 0 && !hasManyPieces(anatomy);
  const pieces = hasFew ? t` A word that the model does not know is read in pieces.` : "";
  const beyond = tokensLeftOut > 0 ? t` The lesson shows the first ${MOST_TOKENS}; the room Sentence reads more.` : "";
  return `${counted(tokens.length, "token")}.${beyond}${pieces}${unknownWords(anatomy)}`;
}

/** The question that the lesson answers. */
export function question({ tokens }: Pick<Anatomy, "tokens">): string {
  return tokens.length === 0 ? t`Write a sentence` : t`What does attention do to a word?`;
}
