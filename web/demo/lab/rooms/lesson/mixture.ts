import { spoken } from "../../../model/names.js";
import { t } from "../../../texts/t.js";
import * as lesson from "./lesson.js";
import type { Lesson } from "./lesson.js";

/** So many queries of their own the room Matrix has: its keys have four features at most. */
const MOST_ROWS = 4;
/** So many numbers of a value it has. */
const VALUE_DIM = 4;
/** No weight of a score as low as this can be seen. */
const LOWEST = -99;

/** Numbers as the room reads them: "1 0.25;0 1". */
const table = (rows: readonly (readonly number[])[]) =>
  rows.map((row) => row.map((number) => Number(number.toFixed(4))).join(" ")).join(";");

/**
 * The mix of the scene as settings of the room Matrix: X picks for each word its row of W_Q, W_K and W_V, which are its
 * query, its scores and its value. Of a long sentence three words stay, and the others are one row: as a key it has their
 * weight, as a query the mean of theirs, and its value is their part of the mix.
 */
export function mixture(seen: Lesson): Readonly<Record<string, string>> {
  const groups = groupsOf(seen);
  if (groups.length < 2) return { reading: "mixtures" }; // one word has no mix, and the room has two rows at least
  const size = String(groups.length);
  const one = identity(groups.length, groups.length);
  return {
    positions: size,
    inputDim: size,
    headDim: size,
    valueDim: String(VALUE_DIM),
    numHeads: "1",
    reading: "mixtures",
    scale: "false", // it is in the scores
    bias: "false",
    x: one,
    wq: one,
    wk: table(groups.map((key) => groups.map((query) => score(seen, query, key)))),
    wv: table(groups.map((group) => value(seen, group))),
    wo: identity(VALUE_DIM, groups.length),
    names: groups.map((group) => nameOf(seen, group)).join("\n"),
    stop: "6",
  };
}

/** What one row of the room is: a word, or all others. */
type Group = readonly number[];

function groupsOf(seen: Lesson): readonly Group[] {
  const { weights } = lesson.asking(seen);
  const all = seen.placed.tokens.map((_, token) => token);
  if (all.length <= MOST_ROWS) return all.map((token) => [token]);
  const most = all.toSorted((a, b) => weights[b]! - weights[a]!).slice(0, MOST_ROWS - 1);
  const own = most.includes(seen.word) ? most : [...most.slice(0, -1), seen.word];
  return [...own.toSorted((a, b) => a - b).map((token) => [token]), all.filter((token) => !own.includes(token))];
}

function nameOf(seen: Lesson, [token, ...more]: Group): string {
  return more.length > 0 ? t`others` : spoken(lesson.namesOf(seen)[token!]!);
}

/** A score of one word for the keys of a group; for the words of a group, one that gives the mean of their weights. */
function score(seen: Lesson, query: Group, key: Group): number {
  const rows = query.map((word) => lesson.asking({ ...seen, word }));
  if (rows.length === 1) return logarithmOfSum(key.map((token) => rows[0]!.scores[token]!));
  const weight = sum(rows.flatMap(({ weights }) => key.map((token) => weights[token]!))) / rows.length;
  return Math.max(Math.log(weight), LOWEST);
}

/** The first numbers of the values of a group, as the word that asks weighs them. */
function value(seen: Lesson, group: Group): number[] {
  const { scores, values } = lesson.asking(seen);
  const whole = logarithmOfSum(group.map((token) => scores[token]!));
  const part = (token: number) => Math.exp(scores[token]! - whole);
  return Array.from({ length: VALUE_DIM }, (_, at) => sum(group.map((token) => part(token) * values[token]![at]!)));
}

function logarithmOfSum(numbers: readonly number[]): number {
  const most = Math.max(...numbers);
  return most + Math.log(sum(numbers.map((number) => Math.exp(number - most))));
}

function identity(rows: number, columns: number): string {
  return table(Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (__, column) => Number(row === column)))); // oxfmt-ignore
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
