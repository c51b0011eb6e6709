import type { Random } from "headwise/train";

import { Characters } from "./characters.js";
import { mostProbable } from "./learner.js";
import type { Model } from "./model.js";
import type { Batch } from "./repeat.js";

/** The characters of sums. The last one ends an answer. */
export const SUM_CHARACTERS = new Characters("0123456789+=\n");

const END = "\n";
const MOST_DIGITS = 3;
const LONGEST = "999+999=8991\n".length;

/** One pair in so many is held out: the model never sees it, in neither order. */
const HELD_OUT_OF = 10;

export type Pair = readonly [a: number, b: number];

/** A sum as the model sees it: the digits of the answer from the last one on, as one adds by hand. */
export function sumText([a, b]: Pair): string {
  return questionText([a, b]) + [...String(a + b)].reverse().join("") + END;
}

export function questionText([a, b]: Pair): string {
  return `${a}+${b}=`;
}

/** Whether a pair is held out. Both orders of it are. */
export function isHeldOut([a, b]: Pair): boolean {
  const key = Math.min(a, b) * 1000 + Math.max(a, b);
  return (Math.imul(key, 0x9e3779b1) >>> 16) % HELD_OUT_OF === 0;
}

/** A batch of sums that are not held out. Only the characters of the answers count. */
export function sumBatch(source: Random, batch: number): Batch {
  const length = LONGEST - 1;
  const shape = [batch, length];
  const tokens = new Int32Array(batch * length);
  const targets = new Int32Array(batch * length).fill(-1);
  for (let start = 0; start < tokens.length; start += length) {
    const pair = drawPair(source, false);
    const ids = SUM_CHARACTERS.ids(sumText(pair));
    const question = questionText(pair).length;
    tokens.set(ids.subarray(0, -1), start);
    targets.set(ids.subarray(question), start + question - 1);
  }
  return { tokens: { data: tokens, shape }, targets: { data: targets, shape } };
}

/** A pair of numbers of one to three digits each, every count of digits equally often. */
export function drawPair(source: Random, heldOut: boolean): Pair {
  for (;;) {
    const pair = [drawNumber(source), drawNumber(source)] as const;
    if (isHeldOut(pair) === heldOut) return pair;
  }
}

function drawNumber(source: Random): number {
  const digits = 1 + source.integer(MOST_DIGITS);
  const least = digits === 1 ? 0 : 10 ** (digits - 1);
  return least + source.integer(10 ** digits - least);
}

/** The part of `count` held-out sums whose answer is right in every digit and ends where it should. */
export async function exactShare(model: Model, source: Random, count: number): Promise<number> {
  let exact = 0;
  for (let n = 0; n < count; n++) {
    const pair = drawPair(source, true);
    const ids = SUM_CHARACTERS.ids(sumText(pair));
    const tokens = { data: ids.slice(0, -1), shape: [1, ids.length - 1] };
    // taking the most probable digit again and again gives the whole answer if each digit of it is the most probable
    const predictions = mostProbable(await model.logits(tokens));
    const first = questionText(pair).length - 1;
    if (predictions.subarray(first).every((id, n) => id === ids[first + 1 + n])) exact++;
  }
  return exact / count;
}
