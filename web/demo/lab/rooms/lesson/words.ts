import type { Anatomy } from "../../../model/anatomy.js";
import { unknownWords } from "../../../model/unknownWords.js";
import { counted } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { MOST_TOKENS } from "./settings.js";

/** How the sentence was read. */
export function readWords({ tokens, tokensLeftOut, unknown }: Anatomy): string {
  const pieces = tokens.some((token, at) => at > 0 && /^\p{L}/u.test(token) && !unknown.includes(at)) ? t` A word that the model does not know is read in pieces.` : ""; // oxfmt-ignore
  const beyond = tokensLeftOut > 0 ? t` The lesson shows the first ${MOST_TOKENS}; the room Sentence reads more.` : "";
  return `${counted(tokens.length, "token")}.${beyond}${pieces}${unknownWords({ tokens, unknown })}`;
}

/** The question that the lesson answers. */
export function question({ tokens }: Pick<Anatomy, "tokens">): string {
  return tokens.length === 0 ? t`Write a sentence` : t`What does attention do to a word?`;
}
