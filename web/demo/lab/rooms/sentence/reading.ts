import type { Encoding } from "../../../model/encoder.js";
import { headsOf, rowOf } from "../../../model/heads.js";
import { percent } from "../../../model/links.js";
import { firstRepetition, largestRowDifference } from "../../../model/story.js";
import { decimal } from "../../shell/numbers.js";

/** A cell in words, and the opposite direction: attention is not symmetric. */
export function reading(encoding: Encoding, names: readonly string[], head: number, from: number, to: number): string {
  const { probs, scores } = headsOf(encoding)[head]!;
  const share = (i: number, j: number) => percent(rowOf(probs, i)[j]!);
  const score = (i: number, j: number) => decimal(rowOf(scores, i)[j]!);
  if (from === to)
    return `${names[from]} gives ${share(from, to)} of its attention to itself (score ${score(from, to)}).`;
  return (
    `${names[from]} gives ${share(from, to)} of its attention to ${names[to]} (score ${score(from, to)}). ` +
    `The other way, ${names[to]} gives ${share(to, from)} (score ${score(to, from)}).`
  );
}

/** What the position changes for a token that occurs twice. */
export function twins(encoding: Encoding, names: readonly string[]): string {
  const repetition = firstRepetition(encoding);
  if (!repetition) return "";
  const [first, second] = repetition;
  const difference = largestRowDifference(encoding, first, second);
  const rows = `${names[first]} and ${names[second]} are the same token. Over all heads, their rows`;
  return difference === 0
    ? `${rows} are equal: nothing tells the model which is which.`
    : `${rows} differ by up to ${percent(difference)}, because the model knows where each stands.`;
}
