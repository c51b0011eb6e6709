// All sentences of the room, as functions of the numbers that are drawn.

import { movedByHead } from "../../../model/change.js";
import { MAX_TOKENS, type Encoding } from "../../../model/encoder.js";
import { headsOf, headName, rowOf } from "../../../model/heads.js";
import { headWithMost, habitsOf, type Habit } from "../../../model/habits.js";
import { percent, strongestLinks } from "../../../model/links.js";
import { readable, tokenNames } from "../../../model/names.js";
import type { StorageError } from "../../../model/packed.js";
import { similarity } from "../../../model/similarity.js";
import { firstRepetition, knownWords, rowDifference } from "../../../model/story.js";
import { unknownWords } from "../../../model/unknownWords.js";
import { decimal } from "../../shell/numbers.js";
import { isBlind, isChanged, namesOf, shownHead, type Seen } from "./seen.js";

/** Differences below this are rounding of float32: engines may add in different orders. */
const ROUNDING = 1e-6;

/** The question that the room answers for this sentence. */
export function question({ shown }: Pick<Seen, "shown">): string {
  const twins = firstRepetition(shown);
  return twins ? `Which ${quoted(readable(shown.tokens[twins[0]]!))} is which?` : "What does each word look at?";
}

/** The answer, from the rows of the head that is shown. */
export function finding(seen: Seen): string {
  const { shown, placed, unplaced, head, options } = seen;
  const names = namesOf(seen);
  if (names.length === 0) return "There is nothing to read yet: type a sentence.";
  if (isBlind(seen)) return blindness(names.length);
  const twins = firstRepetition(shown);
  if (!twins) return strongestWords(seen);
  const apart = (encoding: Encoding) => rowDifference(headsOf(encoding)[head]!.probs, ...twins);
  if (options.positions === false) {
    const rows = apart(shown) < ROUNDING ? "look alike" : `differ by up to ${points(apart(shown))}`;
    const both = twins.map((token) => quoted(names[token]!)).join(" and ");
    return `Without positions, ${both} ${rows}. Told where they stand, they ${difference(apart(placed))}.`;
  }
  const [one, other] = twins.map((token) => besidesItself(seen, names, token)) as [Besides, Besides];
  const looks =
    one.share > 0 && other.share > 0
      ? `Besides itself, ${one.name} looks most at ${one.to} (${percent(one.share)}) and ${other.name} at ${other.to} (${percent(other.share)})`
      : `${alone(one)}, ${alone(other)}`;
  return `${looks}. Without positions their rows ${apart(unplaced) < ROUNDING ? "are equal" : difference(apart(unplaced))}.`;
}

/** The strongest link from word to word. What the model does not know, and signs such as “.”, are no words. */
function strongestWords(seen: Seen): string {
  const words = knownWords(seen.shown);
  if (words.length === 0) return "The model knows no word of this text. It was trained on English.";
  const [link] = linksInWords(seen, 1, words);
  const head = headName(shownHead(seen));
  return link ? `The strongest link from word to word in ${head} is ${link}.` : `No word looks at a word in ${head}.`;
}

interface Besides {
  readonly name: string;
  readonly to: string;
  readonly share: number;
}

/** The other token that a token looks at most. */
function besidesItself(seen: Seen, names: readonly string[], token: number): Besides {
  const row = rowOf(shownHead(seen).probs, token);
  const to = row.reduce((most, prob, j) => (j !== token && (most === token || prob > row[most]!) ? j : most), token);
  return { name: quoted(names[token]!), to: quoted(names[to]!), share: row[to]! };
}

function alone({ name, to, share }: Besides): string {
  return share > 0 ? `${name} looks at ${to} (${percent(share)})` : `${name} looks only at itself (100 %)`;
}

/** "are equal" or "differ by up to 21 percentage points" */
function difference(apart: number): string {
  return apart < ROUNDING ? "are equal" : `differ by up to ${points(apart)}`;
}

/** What positions do to the rows of a word that occurs twice. */
export function twinRows({ placed, unplaced, head }: Seen, [first, second]: readonly [number, number]) {
  const rows = (encoding: Encoding) => difference(rowDifference(headsOf(encoding)[head]!.probs, first, second));
  return { on: `Positions on: the rows ${rows(placed)}`, off: `Positions off: the rows ${rows(unplaced)}` };
}

/** A cell in words, and the opposite direction: attention is not symmetric. */
export function cellWords(seen: Seen, from: number, to: number): string {
  const names = namesOf(seen);
  const { probs, scores } = shownHead(seen);
  const gives = (i: number, j: number) =>
    `${percent(rowOf(probs, i)[j]!)} of its attention to ${i === j ? "itself" : quoted(names[j]!)}`;
  const scored = (i: number, j: number) => `(score ${decimal(rowOf(scores, i)[j]!)})`;
  const one = `${quoted(names[from]!)} gives ${gives(from, to)} ${scored(from, to)}.`;
  if (from === to) return one;
  return `${one} The other way, ${quoted(names[to]!)} gives ${gives(to, from)} ${scored(to, from)}.`;
}

/** How the map is read, as long as no cell is chosen. */
export function hint(seen: Pick<Seen, "shown" | "options">): string {
  return isBlind(seen)
    ? "No word spreads any attention, as every token is hidden."
    : "Each row is one word: how it spreads 100 % of its attention over all words. Point at a number.";
}

/** The two scores of a pair, and why they differ. */
export function directionWords(seen: Seen, from: number, to: number): string {
  const names = namesOf(seen);
  if (from === to) return `${quoted(names[from]!)} with itself has one score only. Choose two tokens.`;
  const { scores } = shownHead(seen);
  const apart = Math.abs(rowOf(scores, from)[to]! - rowOf(scores, to)[from]!);
  const compared = apart < ROUNDING ? "The two scores are equal" : `The two scores are ${decimal(apart)} apart`;
  return `${compared}. Queries and keys come from different matrices; from one matrix, both scores would be equal.`;
}

/** The pair of words whose two scores differ most in the head that is shown. */
export function mostAsymmetricPair(seen: Pick<Seen, "shown" | "head">): readonly [from: number, to: number] {
  const { tokens } = seen.shown;
  const { scores } = shownHead(seen);
  const apart = ([i, j]: readonly [number, number]) =>
    Math.abs(rowOf(scores, i)[j]! - rowOf(scores, j)[i]!) + (isWord(tokens[i]!) && isWord(tokens[j]!) ? 0 : -Infinity);
  const pairs = tokens.flatMap((_, i) => tokens.slice(i + 1).map((__, k) => [i, i + 1 + k] as const));
  return pairs.reduce((most, pair) => (apart(pair) > apart(most) ? pair : most), [0, 1] as const);
}

function isWord(token: string): boolean {
  return /\p{L}/u.test(token);
}

/** What the map of all layers together says about a cell. */
export function rolloutWords(names: readonly string[], from: number, to: number, share: number): string {
  return `${percent(share)} of what is known at ${quoted(names[from]!)} comes from ${from === to ? "the token itself" : quoted(names[to]!)}.`;
}

export function tokensRead({ tokens, tokensLeftOut, unknown }: Encoding): string {
  const beyond =
    tokensLeftOut > 0
      ? ` The model reads ${MAX_TOKENS}: the last ${tokensLeftOut} ${tokensLeftOut === 1 ? "is" : "are"} left out.`
      : "";
  return `${count(tokens.length, "token")}.${beyond}${unknownWords({ tokens, unknown })}`;
}

/** How many of the sentences are read. */
export function sentencesRead(read: number, given: number): string {
  return given > read
    ? `The first ${count(read, "sentence")} of ${given} are read.`
    : `${count(read, "sentence")} ${read === 1 ? "is" : "are"} read.`;
}

/** The strongest links of the head that is shown, or of those between some of the tokens. */
export function linksInWords(seen: Seen, most: number, among?: readonly number[]): string[] {
  if (isBlind(seen)) return [];
  const names = namesOf(seen);
  const isAmong = (token: number) => among?.includes(token) ?? true;
  return strongestLinks(shownHead(seen).probs, Infinity)
    .filter(({ from, to, prob }) => prob > 0 && isAmong(from) && isAmong(to))
    .slice(0, most)
    .map(({ from, to, prob }) => `${arrow(names, from, to)} ${percent(prob)}`);
}

/** "“park₄” → “car”" or "“car” → itself" */
function arrow(names: readonly string[], from: number, to: number): string {
  return `${quoted(names[from]!)} → ${from === to ? "itself" : quoted(names[to]!)}`;
}

/** What the visitor's changes do to the sentence. */
export function effect(seen: Seen): string {
  const { original, shown } = seen;
  if (!isChanged(seen)) return "Nothing is changed. Switch a head off, or hide a token, to see two maps here.";
  const cosine = `The sentence’s embedding turned: its cosine with the original is ${decimal(similarity(original.embedding, shown.embedding), 4)}.`;
  return `${cosine} ${movedWords(seen)}`;
}

function movedWords(seen: Seen): string {
  if (isBlind(seen)) return blindness(seen.shown.tokens.length);
  const head = mostMoved(seen);
  const moved = movedByHead(seen.original, seen.shown)[head]!;
  return moved < ROUNDING
    ? "No weight of attention changes."
    : `${capital(headName(headsOf(seen.shown)[head]!))} changes most: ${percent(moved)} of its attention is elsewhere.`;
}

/** The head whose attention has moved most. */
export function mostMoved({ original, shown }: Seen): number {
  const moved = movedByHead(original, shown);
  return moved.reduce((most, share, head) => (share > moved[most]! ? head : most), 0);
}

/** The link of a head that has changed most. */
export function changedLink({ original, shown }: Seen, head: number): string {
  const [before, after] = [headsOf(original)[head]!.probs, headsOf(shown)[head]!.probs];
  const apart = (i: number) => Math.abs(after[i]! - before[i]!);
  const most = before.reduce((best, _, i) => (apart(i) > apart(best) ? i : best), 0);
  const names = tokenNames(shown.tokens);
  const [from, to] = [Math.floor(most / names.length), most % names.length];
  return `${arrow(names, from, to)} changes most: from ${percent(before[most]!)} to ${percent(after[most]!)}.`;
}

/** The head that has most of a habit, in words. */
export function habitWords(encoding: Encoding, habit: Habit): string {
  const heads = headsOf(encoding);
  const head = heads[headWithMost(habit, heads)]!;
  return `${HABIT_WORDS[habit]}: ${headName(head)} (${percent(habitsOf(head)[habit])})`;
}

export const HABIT_WORDS: Readonly<Record<Habit, string>> = {
  previous: "one back",
  first: "at the first",
  self: "at itself",
};

export function compared(one: Encoding, other: Encoding): string {
  return `Cosine of the two sentences: ${decimal(similarity(one.embedding, other.embedding))}. Both maps show the same head.`;
}

/** What the storage of the model costs, in megabytes and in accuracy. Bounds are rounded to the safe side. */
export function storageNote({ megabytes, sentences, cosine, weight }: StorageError): string {
  const bound = decimal(Math.ceil(weight * 1000) / 10, 1);
  const least = (Math.floor(cosine * 1e6) / 1e6).toFixed(6);
  return (
    "What you see first was computed by headwise when this page was built. When you change something, your browser " +
    `loads the model (${Math.ceil(megabytes)} MB) and computes with headwise itself. The weights are stored as float16. ` +
    `Over ${count(sentences, "sentence")}, with positions and without, this moves no weight of attention by more than ` +
    `${bound} percentage points, and every embedding keeps a cosine of at least ${least} with the original’s.`
  );
}

function blindness(tokens: number): string {
  const who = tokens === 1 ? "The only token is hidden" : `All ${tokens} tokens are hidden`;
  return `${who}: no token looks at anything, and every weight is 0 %.`;
}

/** "21 percentage points" */
export function points(share: number): string {
  const rounded = Math.round(100 * share);
  return rounded === 0 ? "less than 1 percentage point" : count(rounded, "percentage point");
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

export function quoted(name: string): string {
  return `“${name}”`;
}
