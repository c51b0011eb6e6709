import { choice, number, ordinal, text, type Values } from "../../shell/field.js";
import { HANDS, type Hand } from "./handmade.js";
import { KINDS, type Placing, type PlacedKind } from "./placing.js";
import { DIM, LONGEST, wordsOf } from "./vocabulary.js";

const word = { max: LONGEST - 1 };

export const fields = {
  words: text("They decided to park the car in the park.", 200),
  kind: choice<PlacedKind>("sinusoidal", KINDS),
  /** As a power of ten. */
  base: number(4, { min: 0.5, max: 6, step: 0.1 }),
  /** How many places the whole text is moved. */
  offset: number(20, { min: 0, max: 64 }),
  /** Two words: one in its place, and another one that is put there. */
  word: ordinal(3, word),
  other: ordinal(5, word),
  pair: ordinal(2, { max: DIM / 2 - 1 }),
  query: ordinal(8, word),
  key: ordinal(3, word),
  hand: choice<Hand>("back", HANDS),
  sharpness: number(40, { min: 1, max: 80 }),
};
export type Settings = Values<typeof fields>;

/** The settings with indices of words that the text has. */
export function settled(settings: Settings): Settings {
  const last = wordsOf(settings.words).length - 1;
  const index = (name: "word" | "other" | "query" | "key") => Math.min(settings[name], last);
  return {
    ...settings,
    word: index("word"),
    other: index("other"),
    query: index("query"),
    key: index("key"),
  };
}

export function placingOf({ kind, base }: Settings): Placing {
  return { kind, base: 10 ** base };
}
