import type { HeadPlace, WordStudy } from "../../../engine/modelProtocol.js";
import { probabilityOf } from "../../../engine/predictions.js";
import { listed } from "../../../shell/amounts.js";
import { decimal, grouped, rounded } from "../../../shell/numbers.js";
import { share } from "./share.js";
import { headWords, movesWords, sentence, sharesWords } from "./words.js";
import { t } from "../../../../texts/t.js";

/** Heads that are named after the one that brings the word most. */
const NEXT = 2;
/** A head that changes the log-odds by less is not named. */
const FAINT = 0.1;

/** A head, and how much higher the log-odds of the word are with it. */
export interface HeadEffect extends HeadPlace {
  readonly effect: number;
  /** The probability of the word without the head. */
  readonly without: number;
}

/** The heads that are studied so far, layer by layer. */
export function effectsOf({ heads, all, without }: WordStudy): HeadEffect[] {
  return without.map((odds, n) => ({
    layer: Math.floor(n / heads) + 1,
    head: n % heads,
    effect: all - odds,
    without: probabilityOf(odds),
  }));
}

export function isDone({ layers, heads, without }: WordStudy): boolean {
  return without.length === layers * heads;
}

/** "+2.3" helps, "−0.4" hinders. */
export function effectNumber(effect: number): string {
  return `${rounded(effect, 1) > 0 ? "+" : ""}${decimal(effect, 1)}`;
}

/** "layer 1 head 2: 41.0 % → 9.0 %" */
export function changeWords(head: HeadEffect, { all }: WordStudy): string {
  return `${headWords(head)}: ${sharesWords(probabilityOf(all), head.without)}`;
}

/** "40 of 144 heads have been tried." */
export function triedWords({ layers, heads, without }: WordStudy): string {
  return t`${grouped(without.length)} of ${grouped(layers * heads)} heads have been tried.`;
}

/** Which heads matter most for the word. */
export function studyFinding(study: WordStudy, label: string): string {
  const all = probabilityOf(study.all);
  const strong = effectsOf(study).filter(({ effect }) => Math.abs(effect) >= FAINT);
  const [first, ...next] = strong.filter(({ effect }) => effect > 0).sort((a, b) => b.effect - a.effect);
  const [against] = strong.filter(({ effect }) => effect < 0).sort((a, b) => a.effect - b.effect);
  if (!first && !against)
    return t`No head matters here by itself: without any one of them “${label}” stays at about ${share(all)}.`;
  return [
    ...(first ? [t`${named(first)} brings “${label}”: without this head its probability ${moves(all, first)}.`] : []),
    ...(next.length > 0 ? [nextWords(next.slice(0, NEXT))] : []),
    ...(against
      ? [t`${named(against)} hinders “${label}”: without this head its probability ${moves(all, against)}.`]
      : []),
  ].join(" ");
}

function nextWords(heads: readonly HeadEffect[]): string {
  const list = listed(heads.map((head) => t`${headWords(head)} (${share(head.without)} without it)`));
  return heads.length === 1 ? t`Next comes ${list}.` : t`Next come ${list}.`;
}

function named(head: HeadPlace): string {
  return sentence(headWords(head));
}

function moves(all: number, { without }: HeadEffect): string {
  return movesWords(share(all), share(without), without < all);
}
