import { sentencesOf } from "./judge.js";
import { COLOURS, MEN, PAIRED_THINGS, SINGLE_THINGS, WOMEN } from "./lexicon.js";
import type { Pronoun } from "./pronouns.js";
import { SHAPES, sexOf } from "./shapes.js";

/** A story up to a pronoun, in which the pronoun means something else. */
export interface Exchange {
  readonly words: readonly string[];
  /** What the pronoun meant: a name, or a noun and its colour. */
  readonly own: Meant;
  /** What it means now. */
  readonly other: Meant;
}

interface Meant {
  readonly name: string;
  /** The word before a noun. */
  readonly colour?: string;
}

const isIn = (words: readonly string[]) => (word: string) => words.includes(word);
const isName = isIn([...WOMEN, ...MEN]);
const isNoun = isIn([...SINGLE_THINGS, ...PAIRED_THINGS]);
const isPair = isIn(PAIRED_THINGS);
const isColour = isIn(COLOURS);
/** Words that say whether one thing is meant, or a pair. */
const agrees = isIn(["was", "is", "this", "belongs", "looks"].flatMap((shape) => Object.values(SHAPES[shape]!.words)));

/**
 * The words before a pronoun, with another person or thing in the sentence that it is about: one of the story to which
 * the other pronoun belongs. Undefined where the story has none, or where other words of the sentence would be wrong.
 */
export function exchanged(words: readonly string[], pronoun: Pronoun): Exchange | undefined {
  return pronoun.kind === "person" ? otherPerson(words, pronoun) : otherThing(words, pronoun);
}

function otherPerson(words: readonly string[], { at, to }: Pronoun): Exchange | undefined {
  const told = words.slice(0, at);
  const own = told[to]!;
  const other = told.find((word) => isName(word) && sexOf(word) !== sexOf(own));
  if (other === undefined) return undefined;
  const [start, end] = sentenceAround(told, to);
  const swapped = (word: string) => (word === own ? other : word === other ? own : word);
  const changed = told.map((word, place) => (place >= start && place < end ? swapped(word) : word));
  return { words: changed, own: { name: own }, other: { name: other } };
}

function otherThing(words: readonly string[], { at, to }: Pronoun): Exchange | undefined {
  const told = words.slice(0, at);
  const [name, colour] = [told[to]!, told[to - 1]!];
  const place = told.findLastIndex(
    (word, n) => isNoun(word) && isPair(word) !== isPair(name) && isColour(told[n - 1]!),
  );
  if (place < 0 || !isColour(colour) || told.slice(...sentenceAround(told, to)).some(agrees)) return undefined;
  const other = { name: told[place]!, colour: told[place - 1]! };
  const article = told[to - 2]!;
  const before = article === "the" ? ["the"] : isPair(other.name) ? [] : ["a"];
  const start = /^(the|a)$/.test(article) ? to - 2 : to - 1;
  const changed = told.toSpliced(start, to + 1 - start, ...before, other.colour, other.name);
  return { words: changed, own: { name, colour }, other };
}

/** The words before "it" or "them", where the thing is told for the first time: with the article of the other number. */
export function withOtherArticle(words: readonly string[], pronoun: Pronoun): readonly string[] | undefined {
  const { at, to } = pronoun;
  if (!isFirst(words, pronoun)) return undefined;
  return isPair(words[to]!) ? words.slice(0, at).toSpliced(to - 1, 0, "a") : words.slice(0, at).toSpliced(to - 2, 1);
}

/** The same with the article that was there, and a noun of the other number that the story does not have. */
export function withOtherNoun(words: readonly string[], pronoun: Pronoun): readonly string[] | undefined {
  const { at, to } = pronoun;
  if (!isFirst(words, pronoun)) return undefined;
  const nouns: readonly string[] = isPair(words[to]!) ? SINGLE_THINGS : PAIRED_THINGS;
  return words.slice(0, at).with(
    to,
    nouns.find((noun) => !words.includes(noun))!,
  );
}

/** Whether the noun has its colour, and the article of its number. */
function isFirst(words: readonly string[], { kind, to }: Pronoun): boolean {
  if (kind !== "thing" || !isColour(words[to - 1]!)) return false;
  return isPair(words[to]!) ? words[to - 2] !== "the" && words.indexOf(words[to]!) === to : words[to - 2] === "a";
}

function sentenceAround(words: readonly string[], place: number): [start: number, end: number] {
  let start = 0;
  for (const { length } of sentencesOf(words)) {
    if (place < start + length) return [start, start + length];
    start += length;
  }
  return [start, words.length];
}
