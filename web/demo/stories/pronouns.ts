import { judged, type Verdict } from "./judge.js";

/** "he" and "she" mean a person; "it" and "them" mean a thing, or a pair of things. */
export type PronounKind = "person" | "thing";

/** A pronoun of a story, and what it means. */
export interface Pronoun {
  readonly kind: PronounKind;
  /** Its place among the words. */
  readonly at: number;
  readonly word: string;
  /** The pronoun that would be wrong here. */
  readonly other: string;
  /** The place where the name or the noun that it means stood last. */
  readonly to: number;
}

const OTHERS: Readonly<Record<string, string>> = { he: "she", she: "he", it: "them", them: "it" };

/** The pronouns of the sentences that are true in their story. */
export function pronounsOf(words: readonly string[]): readonly Pronoun[] {
  let start = 0;
  return judged(words).flatMap((verdict) => {
    const from = start;
    start += verdict.words.length;
    return verdict.words.flatMap((word, place) => {
      const kind = kindOf(verdict, place);
      const meant = kind === "person" ? verdict.person : verdict.thing;
      const to = kind && meant !== undefined ? words.lastIndexOf(meant, from + place) : -1;
      return to < 0 ? [] : [{ kind: kind!, at: from + place, word, other: OTHERS[word]!, to }];
    });
  });
}

/** "It" that is, was or belongs stands beside "they", not beside "them": it does not count. */
function kindOf({ words, isTrue }: Verdict, place: number): PronounKind | undefined {
  const word = words[place]!;
  if (!isTrue || !(word in OTHERS)) return undefined;
  if (word === "he" || word === "she") return "person";
  return /^(is|was|belongs)$/.test(words[place + 1] ?? "") ? undefined : "thing";
}
