import { choice, flag, number, text, type Values } from "../../shell/field.js";
import type { HeadPlace } from "../../shell/headPlace.js";

/** The longest sequence. Its second half repeats the first. */
export const TOKENS = 64;
/** Different tokens: more than half a sequence, because none is drawn twice. */
export const VOCABULARY = 64;
export const BATCH = 32;

const HEADS = ["1", "2", "4", "8"] as const;
const WIDTHS = ["32", "64", "96", "128"] as const;

export const fields = {
  position: choice("rotary", ["rotary", "learned", "none"]),
  heads: choice<(typeof HEADS)[number]>("4", HEADS),
  width: choice<(typeof WIDTHS)[number]>("64", WIDTHS),
  /** The first weights are normal numbers with this standard deviation. */
  spread: number(0.1, { min: 0.02, max: 0.5, step: 0.02 }),
  seed: number(1, { min: 1, max: 99 }),
  /** 1000 times the largest learning rate of AdamW. */
  rate: number(3, { min: 0.5, max: 10, step: 0.5 }),
  control: flag(true),
  /** The heads of the two layers that are off, as in "1.1,2.4": layer and head, from 1. */
  off: text("", 200),
  /** The head whose map is large, as in "2.1" or "control.1". "": the one that took up a habit last. */
  head: text("", 12),
};
export type Settings = Values<typeof fields>;

/** What addresses call the control's only layer. Its number is 0. */
const CONTROL = "control";

/** The settings that a model is made from. Changing any other one does not begin the training anew. */
export function modelKey({ position, heads, width, spread, seed, rate, control }: Settings): string {
  return JSON.stringify([position, heads, width, spread, seed, rate, control]);
}

/** Reads "1.1,2.4". What is no head of the model is left out. */
export function placesOf(list: string, heads: number): readonly HeadPlace[] {
  const places = list.split(",").map((item) => placeOf(item, heads));
  return places.filter((place) => place !== undefined);
}

export function placeOf(name: string, heads: number): HeadPlace | undefined {
  const [, layer, head] = /^(1|2|control)\.([1-9])$/.exec(name.trim()) ?? [];
  if (layer === undefined || Number(head) > heads) return undefined;
  return { layer: layer === CONTROL ? 0 : Number(layer), head: Number(head) - 1 };
}

/** Writes "1.1" or "control.1". */
export function placeName({ layer, head }: HeadPlace): string {
  return `${layer === 0 ? CONTROL : layer}.${head + 1}`;
}

/** The list with this head taken in or out, in the order of layers and heads. */
export function switched(list: string, place: HeadPlace, heads: number): string {
  const names = placesOf(list, heads).map(placeName);
  const name = placeName(place);
  return (names.includes(name) ? names.filter((other) => other !== name) : [...names, name]).sort().join(",");
}

/** One factor for each head of each layer of the two: 0 where it is off. */
export function gainsOf({ off, heads }: Settings): readonly (readonly number[])[] {
  const places = placesOf(off, Number(heads));
  return [1, 2].map((layer) =>
    Array.from({ length: Number(heads) }, (_, head) =>
      places.some((place) => place.layer === layer && place.head === head) ? 0 : 1,
    ),
  );
}
