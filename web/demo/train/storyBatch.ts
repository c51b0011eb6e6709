import type { Random } from "headwise/train";

import { drawStory } from "../stories/story.js";
import type { Story } from "../stories/teller.js";
import { BREAK, storyWords } from "../stories/words.js";
import type { Batch } from "./repeat.js";
import { Words } from "./words.js";

export const STORY_WORDS = new Words(storyWords());

/** Between the stories. */
const GAP = idOf(BREAK);
const [COMMA, AND, STOP] = [",", "and", "."].map(idOf) as [number, number, number];
const ITEMS = Int32Array.from(STORY_WORDS.tokens.keys()).filter((id) => /^\p{L}+$/u.test(STORY_WORDS.tokens[id]!));

/** Rows of one length, padded at the end. Targets of −1 do not count. */
interface Row {
  readonly tokens: readonly number[];
  readonly targets: readonly number[];
}

/** The numbers of a story, with a break before and after it. */
export function storyIds({ words }: Story): number[] {
  return [GAP, ...words.map(idOf), GAP];
}

/** A batch of stories that are not held out, one a row. Every word counts. */
export function storyBatch(source: Random, rows: number): Batch {
  return padded(Array.from({ length: rows }, () => rowOf(storyIds(drawStory(source, false)))));
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

/**
 * A batch of words in random order, repeated to the end of the row: bare, or as a list with commas. Only what is
 * repeated counts, so that heads learn to find the earlier place and to copy what followed.
 */
export function repeatedBatch(source: Random, rows: number, length: number, lists = 2): Batch {
  return padded(Array.from({ length: rows }, () => repeatedRow(source, length, lists)));
}

function repeatedRow(source: Random, length: number, lists: number): Row {
  const isList = source.integer(4) < lists;
  const count = isList ? 3 + source.integer(5) : 3 + source.integer(length / 2 - 3);
  const items = Array.from(source.permutation(ITEMS.length).subarray(0, count), (at) => ITEMS[at]!);
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
  const targets = new Int32Array(rows.length * length).fill(-1);
  rows.forEach((row, n) => {
    tokens.set(row.tokens, n * length);
    targets.set(row.targets, n * length);
  });
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape } };
}

function idOf(word: string): number {
  return STORY_WORDS.ids(word)[0]!;
}
