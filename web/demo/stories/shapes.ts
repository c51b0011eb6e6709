import { ANIMALS, COLOURS, COUNTED, GOODS, HIDEOUTS, MEN, NUMBERS, PAIRED_THINGS, PETS, PLACES, SINGLE_THINGS, SOUNDS, TELLERS, WOMEN } from "./lexicon.js"; // oxfmt-ignore

/** What is known about somebody or something in a sentence: `{ name: "Kate", sex: "female" }`. */
export type Features = Readonly<Record<string, string>>;

/** How a slot of a sentence shows one feature: the word for each value of it. "" is no word. */
export interface Shape {
  readonly feature: string;
  readonly words: Readonly<Record<string, string>>;
  /** What the answer at this place is about, if every such word has one. */
  readonly kind?: FactKind;
}

/** What a word with a true answer is about. */
export type FactKind =
  | "agreement"
  | "pronoun"
  | "possessive"
  | "it/them"
  | "recipient"
  | "owner"
  | "colour"
  | "thing"
  | "count"
  | "list"
  | "place"
  | "pet";

const same = (words: readonly string[]) => Object.fromEntries(words.map((word) => [word, word]));
const entity = (feature: string, words: readonly string[]): Shape => ({ feature, words: same(words) });
const bySex = (female: string, male: string, kind: FactKind): Shape => ({ feature: "sex", words: { female, male }, kind }); // oxfmt-ignore
const byNumber = (single: string, many: string, kind: FactKind): Shape => ({ feature: "number", words: { single, many }, kind }); // oxfmt-ignore

export const SHAPES: Readonly<Record<string, Shape>> = {
  name: entity("name", [...WOMEN, ...MEN]),
  he: bySex("she", "he", "pronoun"),
  him: bySex("her", "him", "pronoun"),
  his: bySex("her", "his", "possessive"),
  colour: entity("colour", COLOURS),
  noun: entity("noun", [...SINGLE_THINGS, ...PAIRED_THINGS]),
  a: { feature: "number", words: { single: "a", many: "" } },
  it: byNumber("it", "them", "it/them"),
  they: byNumber("it", "they", "it/them"),
  was: byNumber("was", "were", "agreement"),
  is: byNumber("is", "are", "agreement"),
  this: byNumber("this", "these", "agreement"),
  belongs: byNumber("belongs", "belong", "agreement"),
  looks: byNumber("looks", "look", "agreement"),
  place: entity("place", PLACES),
  under: entity("hideout", HIDEOUTS),
  kind: entity("kind", ANIMALS),
  pet: entity("pet", PETS),
  role: entity("role", TELLERS),
  count: entity("count", NUMBERS),
  good: entity("good", GOODS),
  sound: entity("sound", SOUNDS),
  items: entity("item", COUNTED),
};

/** What one feature tells about another: a name about the sex, a noun about the number. */
export function withDerived(features: Record<string, string>): Record<string, string> {
  const { name, noun } = features;
  if (name) features["sex"] = sexOf(name);
  if (noun) features["number"] = SINGLE_THINGS.some((thing) => thing === noun) ? "single" : "many";
  return features;
}

export function sexOf(name: string): "female" | "male" {
  return WOMEN.some((woman) => woman === name) ? "female" : "male";
}
