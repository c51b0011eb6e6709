import type { PronounKind } from "../../stories/pronouns.js";

/** A head, and the mean part of its weight on a word. Layers count from 1, heads from 0. */
export interface HeadShare {
  readonly layer: number;
  readonly head: number;
  readonly share: number;
}

/** A story up to a pronoun: where the head that finds looks, and what the model says next. */
export interface Look {
  readonly tokens: Int32Array;
  readonly weights: Float32Array;
  /** The word that is right here, its chance, and the chance of the other pronoun. */
  readonly right: string;
  readonly chance: number;
  readonly wrong: string;
  readonly otherChance: number;
}

/** How often the model's choice is the one of a changed story. */
export interface Followed {
  readonly asked: number;
  readonly followed: number;
}

/** Mean parts of a head's weight before another person or thing is meant, and after. */
export interface Moved extends Followed {
  readonly before: { readonly own: number; readonly other: number };
  readonly after: { readonly own: number; readonly other: number };
}

/** Which head finds what a kind of pronoun means, over stories that the model has not seen; and the controls. */
export interface PronounFinding {
  readonly kind: PronounKind;
  readonly stories: number;
  readonly asked: number;
  /** The head with the most weight on the name or the noun itself. */
  readonly closest: HeadShare;
  /** The head with the most weight on that word, or on the word before it. */
  readonly finder: HeadShare;
  readonly isBefore: boolean;
  /** In how many places no other word has more of the finder's weight. */
  readonly most: number;
  /** How many pronouns are right with all heads, without the finder, and without the head of its layer that looks there least. */
  readonly right: number;
  readonly without: number;
  readonly control: HeadShare & { readonly right: number };
  readonly exchange: Moved;
  /** Of things told for the first time: the other article before the same noun, and the other noun after the same article. */
  readonly article: Followed;
  readonly noun: Followed;
  /** A short place where the finder's most weight is on what is meant, before the exchange and after. */
  readonly looks: readonly [before: Look, after: Look] | undefined;
}

/** A pronoun of the visitor's text. */
export interface OwnPronoun {
  readonly kind: PronounKind;
  readonly word: string;
  /** Its place among the tokens. */
  readonly at: number;
  readonly meant: string;
  /** The word where the finder of its kind should look, and the part of its weight that is there. */
  readonly clue: string;
  readonly share: number;
}

export interface PronounStudy {
  readonly findings: readonly PronounFinding[];
  readonly own: readonly OwnPronoun[];
  /** The text in which `own` was looked for. */
  readonly tokens: Int32Array;
}
