// All sentences of the room, as functions of the numbers that are drawn.

import { movedByHead } from "../../../model/change.js";
import { MAX_TOKENS, type Encoding } from "../../../model/encoder.js";
import { headsOf, headName, rowOf } from "../../../model/heads.js";
import { headWithMost, habitsOf, type Habit } from "../../../model/habits.js";
import { percent, strongestLinks, type Link } from "../../../model/links.js";
import { modelName } from "../../../model/modelName.js";
import { readable, spoken, tokenNames } from "../../../model/names.js";
import type { StorageError } from "../../../model/packed.js";
import { similarity } from "../../../model/similarity.js";
import { firstRepetition, rowDifference } from "../../../model/story.js";
import { unknownWords } from "../../../model/unknownWords.js";
import { knownWords } from "../../../model/writtenWords.js";
import { counted, decimal, rounded } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { isBlind, isChanged, namesOf, shownHead, type Seen } from "./seen.js";

/** Differences below this are rounding of float32: engines may add in different orders. */
const ROUNDING = 1e-6;

/** The question that the room answers for this sentence. */
export function question({ shown }: Pick<Seen, "shown">): string {
  const twins = firstRepetition(shown);
  return twins ? t`Which ${quoted(readable(shown.tokens[twins[0]]!))} is which?` : t`What does each word look at?`;
}

/** The answer, from the rows of the head that is shown. */
export function finding(seen: Seen): string {
  const { shown, placed, unplaced, head, options } = seen;
  const names = namesOf(seen);
  if (names.length === 0) return t`There is nothing to read yet: type a sentence.`;
  if (isBlind(seen)) return blindness(names.length);
  const twins = firstRepetition(shown);
  if (!twins) return strongestWords(seen);
  const apart = (encoding: Encoding) => rowDifference(headsOf(encoding)[head]!.probs, ...twins);
  if (options.positions === false) {
    const both = t`${quoted(names[twins[0]]!)} and ${quoted(names[twins[1]]!)}`;
    const without =
      apart(shown) < ROUNDING
        ? t`Without positions, ${both} look alike.`
        : t`Without positions, ${both} differ by up to ${points(apart(shown))}.`;
    const told =
      apart(placed) < ROUNDING
        ? t`Told where they stand, they are equal.`
        : t`Told where they stand, they differ by up to ${points(apart(placed))}.`;
    return `${without} ${told}`;
  }
  const [one, other] = twins.map((token) => besidesItself(seen, names, token)) as [Besides, Besides];
  const looks =
    one.share > 0 && other.share > 0
      ? t`Besides itself, ${one.name} looks most at ${one.to} (${percent(one.share)}) and ${other.name} at ${other.to} (${percent(other.share)}).`
      : `${alone(one)}, ${alone(other)}.`;
  const without =
    apart(unplaced) < ROUNDING
      ? t`Without positions their rows are equal.`
      : t`Without positions their rows differ by up to ${points(apart(unplaced))}.`;
  return `${looks} ${without}`;
}

/**
 * The strongest link from a word to another one. What the model does not know, pieces of words, and signs such as “.”, are no
 * words. That a word looks at itself is no news.
 */
function strongestWords(seen: Seen): string {
  const words = knownWords(seen.shown);
  if (words.length === 0) return t`The model knows no whole word of this text. It was trained on English.`;
  if (words.length === 1)
    return t`${quoted(namesOf(seen)[words[0]!]!)} is the only word here that the model knows: there is no other one to look at.`;
  const [link] = linksInWords(seen, 1, ({ from, to }) => words.includes(from) && words.includes(to) && from !== to);
  const head = headName(shownHead(seen));
  return link ? t`The strongest link from word to word in ${head} is ${link}.` : t`No word looks at a word in ${head}.`;
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
  return share > 0 ? t`${name} looks at ${to} (${percent(share)})` : t`${name} looks only at itself (100 %)`;
}

/** What positions do to the rows of a word that occurs twice. */
export function twinRows({ placed, unplaced, head }: Seen, [first, second]: readonly [number, number]) {
  const apart = (encoding: Encoding) => rowDifference(headsOf(encoding)[head]!.probs, first, second);
  return {
    on:
      apart(placed) < ROUNDING
        ? t`Positions on: the rows are equal`
        : t`Positions on: the rows differ by up to ${points(apart(placed))}`,
    off:
      apart(unplaced) < ROUNDING
        ? t`Positions off: the rows are equal`
        : t`Positions off: the rows differ by up to ${points(apart(unplaced))}`,
  };
}

/** A cell in words, and the opposite direction: attention is not symmetric. */
export function cellWords(seen: Seen, from: number, to: number): string {
  const names = namesOf(seen);
  const { probs, scores } = shownHead(seen);
  const share = (i: number, j: number) => percent(rowOf(probs, i)[j]!);
  const score = (i: number, j: number) => decimal(rowOf(scores, i)[j]!);
  const [one, other] = [quoted(names[from]!), quoted(names[to]!)];
  if (from === to) return t`${one} gives ${share(from, to)} of its attention to itself (score ${score(from, to)}).`;
  const there = t`${one} gives ${share(from, to)} of its attention to ${other} (score ${score(from, to)}).`;
  const back = t`The other way, ${other} gives ${share(to, from)} of its attention to ${one} (score ${score(to, from)}).`;
  return `${there} ${back}`;
}

/** How the map is read, as long as no cell is chosen. */
export function hint(seen: Pick<Seen, "shown" | "options">): string {
  return isBlind(seen)
    ? t`No word spreads any attention, as every token is hidden.`
    : t`Each row is one word: how it spreads 100 % of its attention over all words.`;
}

/** The two scores of a pair, and why they differ. */
export function directionWords(seen: Seen, from: number, to: number): string {
  const names = namesOf(seen);
  if (from === to) return t`${quoted(names[from]!)} with itself has one score only. Choose two tokens.`;
  const { scores } = shownHead(seen);
  return t`${comparedScores(rowOf(scores, from)[to]!, rowOf(scores, to)[from]!)} Queries and keys come from different matrices; from one matrix, both scores would be equal.`;
}

/** How far apart two scores are, as they are shown. */
function comparedScores(there: number, back: number): string {
  if (Math.abs(there - back) < ROUNDING) return t`The two scores are equal.`;
  const apart = Math.abs(rounded(there) - rounded(back));
  return apart === 0 ? t`The two scores are nearly equal.` : t`The two scores are ${decimal(apart)} apart.`;
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
  const at = quoted(names[from]!);
  return from === to
    ? t`${percent(share)} of what is known at ${at} comes from the token itself.`
    : t`${percent(share)} of what is known at ${at} comes from ${quoted(names[to]!)}.`;
}

export function tokensRead(encoding: Encoding): string {
  const { tokens, tokensLeftOut } = encoding;
  return `${counted(tokens.length, "token")}.${leftOut(tokensLeftOut)}${unknownWords(encoding)}`;
}

function leftOut(tokens: number): string {
  if (tokens === 0) return "";
  return tokens === 1
    ? t` The model reads ${MAX_TOKENS}: the last ${tokens} is left out.`
    : t` The model reads ${MAX_TOKENS}: the last ${tokens} are left out.`;
}

/** How many of the sentences are read. */
export function sentencesRead(read: number, given: number): string {
  const sentences = counted(read, "sentence");
  if (given > read) return t`The first ${sentences} of ${given} are read.`;
  return read === 1 ? t`${sentences} is read.` : t`${sentences} are read.`;
}

/** The strongest links of the head that is shown, or of some of its links. */
export function linksInWords(seen: Seen, most: number, isMeant: (link: Link) => boolean = () => true): string[] {
  if (isBlind(seen)) return [];
  const names = namesOf(seen);
  return strongestLinks(shownHead(seen).probs, Infinity)
    .filter((link) => link.prob > 0 && isMeant(link))
    .slice(0, most)
    .map(({ from, to, prob }) => `${arrow(names, from, to)} ${percent(prob)}`);
}

/** "“park₄” → “car”" or "“car” → itself" */
function arrow(names: readonly string[], from: number, to: number): string {
  return `${quoted(names[from]!)} → ${from === to ? t`itself` : quoted(names[to]!)}`;
}

/** What the visitor's changes do to the sentence. */
export function effect(seen: Seen): string {
  const { original, shown } = seen;
  if (!isChanged(seen)) return t`Nothing is changed. Switch a head off, or hide a token, to see two maps here.`;
  const cosine = t`The sentence’s embedding turned: its cosine with the original is ${decimal(similarity(original.embedding, shown.embedding), 4)}.`;
  return `${cosine} ${movedWords(seen)}`;
}

function movedWords(seen: Seen): string {
  if (isBlind(seen)) return blindness(seen.shown.tokens.length);
  const head = mostMoved(seen);
  const moved = movedByHead(seen.original, seen.shown)[head]!;
  return moved < ROUNDING
    ? t`No weight of attention changes.`
    : t`${capital(headName(headsOf(seen.shown)[head]!))} changes most: ${percent(moved)} of its attention is elsewhere.`;
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
  return t`${arrow(names, from, to)} changes most: from ${percent(before[most]!)} to ${percent(after[most]!)}.`;
}

/** The head that has most of a habit, in words. */
export function habitWords(encoding: Encoding, habit: Habit): string {
  const heads = headsOf(encoding);
  const head = heads[headWithMost(habit, heads)]!;
  return `${HABIT_WORDS[habit]}: ${headName(head)} (${percent(habitsOf(head)[habit])})`;
}

export const HABIT_WORDS: Readonly<Record<Habit, string>> = {
  previous: t`one back`,
  first: t`at the first`,
  self: t`at itself`,
};

export function compared(one: Encoding, other: Encoding): string {
  return t`Cosine of the two sentences: ${decimal(similarity(one.embedding, other.embedding))}. Both maps show the same head.`;
}

/** Which model it is, and what its storage costs, in megabytes and in accuracy. Bounds are rounded to the safe side. */
export function storageNote({ megabytes, sentences, cosine, weight }: StorageError): string {
  const bound = decimal(Math.ceil(weight * 1000) / 10, 1);
  const least = decimal(Math.floor(cosine * 1e6) / 1e6, 6);
  const stored = t`What you see first was computed by headwise when this page was built. When you change something, your browser loads the model (${Math.ceil(megabytes)} MB) and computes with headwise itself. The weights are stored as float16. Over ${counted(sentences, "sentence")}, with positions and without, this moves no weight of attention by more than ${bound} percentage points, and every embedding keeps a cosine of at least ${least} with the original’s.`;
  return `${modelName()} ${t`Its licence is Apache 2.0.`} ${stored}`;
}

function blindness(tokens: number): string {
  return tokens === 1
    ? t`The only token is hidden: no token looks at anything, and every weight is 0 %.`
    : t`All ${tokens} tokens are hidden: no token looks at anything, and every weight is 0 %.`;
}

/** "21 percentage points" */
export function points(share: number): string {
  const rounded = Math.round(100 * share);
  return rounded === 0 ? t`less than 1 percentage point` : counted(rounded, "percentage point");
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}

export function quoted(name: string): string {
  return t`“${spoken(name)}”`;
}
