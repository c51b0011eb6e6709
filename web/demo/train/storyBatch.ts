import type { Random } from "headwise/train";

import { COLOURS, COUNTED, GOODS, HIDEOUTS, PAIRED_THINGS, PETS, PLACES, SINGLE_THINGS, SOUNDS } from "../stories/lexicon.js"; // oxfmt-ignore
import { drawStory } from "../stories/story.js";
import type { Story } from "../stories/teller.js";
import { BREAK, storyWords } from "../stories/words.js";
import type { Batch } from "./repeat.js";
import { Words } from "./words.js";

export const STORY_WORDS = new Words(storyWords());

/** Between the stories. */
const GAP = idOf(BREAK);
const [COMMA, AND, STOP] = [",", "and", "."].map(idOf) as [number, number, number];
/** Words that come back in stories. */
const ITEMS = [COLOURS, SINGLE_THINGS, PAIRED_THINGS, PLACES, HIDEOUTS, GOODS, SOUNDS, PETS, COUNTED].flat().map(idOf);

/** Rows of one length, padded at the end. Targets of −1 do not count. */
interface Row {
  readonly tokens: readonly number[];
  readonly targets: readonly number[];
  readonly asides?: readonly number[];
}

/** The numbers of a story, with a break before and after it. */
export function storyIds({ words }: Pick<Story, "words">): number[] {
  return [GAP, ...words.map(idOf), GAP];
}

/**
 * A batch of stories that are not held out, one a row. Every word counts, or only those with a true answer. At the noun of a
 * thing or an animal, the training asks aside who has it.
 */
export function storyBatch(source: Random, rows: number, counts: "all" | "facts"): Batch {
  return padded(
    Array.from({ length: rows }, () => {
      const story = drawStory(source, false);
      const { tokens, targets } = rowOf(storyIds(story));
      const asides = new Array<number>(tokens.length).fill(-1);
      for (const { at, holder } of story.named) asides[at + 1] = idOf(holder); // after the break
      if (counts === "all") return { tokens, targets, asides };
      const places = new Set(story.facts.map(({ at }) => at));
      return { tokens, targets: targets.map((target, at) => (places.has(at) ? target : -1)), asides };
    }),
  );
}

/** A batch of stories one after another in long rows, as a text without end has them. */
export function storiesBatch(source: Random, rows: number, length: number): Batch {
  return padded(
    Array.from({ length: rows }, () => {
      const ids = [GAP];
      while (ids.length <= length) ids.push(...storyIds(drawStory(source, false)).slice(1));
      return rowOf(ids.slice(0, length + 1));
    }),
  );
}

/** How rows of repeats are drawn. */
export interface RepeatChoice {
  readonly rows: number;
  readonly length: number;
  /** From so many different words. With few, heads learn to copy sooner. */
  readonly words: number;
  /** The share of rows that are lists with commas. */
  readonly lists: number;
}

/** How many words come back in stories: the most for `RepeatChoice`. */
export const REPEATED_WORDS = ITEMS.length;

/**
 * A batch of words in random order, repeated to the end of the row: bare, or as a list with commas. Only what is
 * repeated counts, so that heads learn to find the earlier place and to copy what followed.
 */
export function repeatedBatch(source: Random, choice: RepeatChoice): Batch {
  return padded(Array.from({ length: choice.rows }, () => repeatedRow(source, choice)));
}

function repeatedRow(source: Random, { length, words, lists }: RepeatChoice): Row {
  const isList = source.next() < lists;
  const count = isList ? 3 + source.integer(5) : 8 + source.integer(length / 2 - 8);
  const items = Array.from(source.permutation(words).subarray(0, count), (at) => ITEMS[at]!);
  const once = isList
    ? [...items.flatMap((item, n) => [...(n > 0 ? [n === items.length - 1 ? AND : COMMA] : []), item]), STOP]
    : items;
  const ids: number[] = [];
  while (ids.length < length) ids.push(...once);
  const { tokens, targets } = rowOf(ids.slice(0, length + 1));
  return { tokens, targets: targets.map((target, at) => (at < once.length ? -1 : target)) };
}

function rowOf(ids: readonly number[]): Row {
  return { tokens: ids.slice(0, -1), targets: ids.slice(1) };
}

function padded(rows: readonly Row[]): Batch {
  const length = Math.max(...rows.map(({ tokens }) => tokens.length));
  const shape = [rows.length, length];
  const tokens = new Int32Array(rows.length * length).fill(GAP);
  const [targets, asides] = [1, 2].map(() => new Int32Array(rows.length * length).fill(-1)) as [Int32Array, Int32Array];
  rows.forEach((row, n) => {
    tokens.set(row.tokens, n * length);
    targets.set(row.targets, n * length);
    asides.set(row.asides ?? [], n * length);
  });
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape }, asides: { data: asides, shape } };
}

function idOf(word: string): number {
  return STORY_WORDS.ids(word)[0]!;
}
