import { choice, number, text, type Values } from "../../shell/field.js";
import { placeName, placeOf, type HeadPlace } from "../../shell/headPlace.js";

export const BEGINNINGS = { text: "Kate and Ben lived near the park.", sums: "123+456=" } as const;

/** Beginnings of stories that ask for something: a receiver, a song, a list, a name, a number, a place. */
export const STORY_BEGINNINGS = {
  gift: "Kate, Ben and Nora were friends. Kate had a red ball. Ben had blue socks. Kate wanted to give the red ball to Nora. So",
  song: "One day Anna met Leo at the beach. Anna sang: “Sun moon star rain.” Leo sang: “",
  list: "Tom and Mary lived near the farm. Tom said to Mary: “Please buy milk, rice, tea and salt.” At the market",
  pets: "Emma and Paul lived near the river. Emma had a cat, and Paul had a dog. The dog was called Rex. The cat was called Luna. One day the dog ran to the park. Paul called: “",
  numbers: "Ida and Jack lived near the school. Ida had three apples, and Jack had four nuts. Ida found two more. So",
  places:
    "Rosa and Hugo lived near the library. Rosa had a grey scarf. Hugo had green socks. Rosa put the grey scarf under the chair. Hugo put the green socks under the bench. The teacher asked: “Where is the grey scarf?”",
} as const;

/** So many signs of a text are read. */
export const MOST_SIGNS = 600;

export const fields = {
  model: choice("text", ["text", "sums"]),
  begin: text(BEGINNINGS.text, MOST_SIGNS),
  temperature: number(0.7, { min: 0, max: 2, step: 0.1 }),
  topK: number(12, { min: 1, max: 40 }),
  seed: number(1, { min: 1, max: 99 }),
  dtype: choice("float32", ["float32", "float16", "int8"]),
  ring: choice("whole", ["whole", "sinks", "window"]),
  /** How many of the last tokens a ring keeps. */
  window: number(64, { min: 16, max: 256, step: 16 }),
  /** How many of the first tokens it keeps. */
  keep: number(4, { min: 1, max: 16 }),
  /** The heads that are off, as in "1.1,4.4": layer and head, from 1. */
  off: text("", 400),
  /** The head that colours the text. */
  head: text("1.1", 8),
};
export type Settings = Values<typeof fields>;

export function placesOf(list: string): readonly HeadPlace[] {
  return list
    .split(",")
    .map(placeOf)
    .filter((place) => place !== undefined);
}

/** The list with this head taken in or out. */
export function switched(list: string, place: HeadPlace): string {
  const names = placesOf(list).map(placeName);
  const name = placeName(place);
  return (names.includes(name) ? names.filter((other) => other !== name) : [...names, name]).sort().join(",");
}

/** One factor for each head that is named, or stands before one that is; 1 for all others. */
export function gainsOf({ off }: Settings): readonly (readonly number[])[] {
  const places = placesOf(off);
  const layers = Math.max(0, ...places.map(({ layer }) => layer));
  return Array.from({ length: layers }, (_, at) => {
    const own = places.filter(({ layer }) => layer === at + 1).map(({ head }) => head);
    return Array.from({ length: Math.max(0, ...own.map((head) => head + 1)) }, (__, head) =>
      Number(!own.includes(head)),
    );
  });
}

/** What a cache keeps; undefined: everything. */
export function ringOf({ ring, window, keep }: Settings): { keepFirst: number; window: number } | undefined {
  if (ring === "whole") return undefined;
  // Both rings keep the same number of tokens.
  return ring === "sinks" ? { keepFirst: keep, window } : { keepFirst: 0, window: window + keep };
}
