import { choice, flag, number, text, type Values } from "../../shell/field.js";
import { MAX_TOKENS } from "../../../model/encoder.js";
import { FIRST_SENTENCES } from "../../../model/story.js";

export const HEADS = 8;
const LARGEST_GAIN = 2;
/** The most sentences that the model reads. The others stay in the text. */
export const MOST_SENTENCES = 12;
const LONGEST_TEXT = 100_000;

export const fields = {
  texts: text(FIRST_SENTENCES.join("\n"), LONGEST_TEXT),
  positions: flag(true),
  /** The index of the sentence, from 0. An index that is too high means the last sentence. */
  sentence: number(0, { min: 0, max: 99 }),
  other: number(1, { min: 0, max: 99 }),
  show: choice("links", ["links", "weights", "scores", "rollout", "compare"]),
  /** The first one tells most about the two “park” (`tellingHead`). */
  head: number(0, { min: 0, max: HEADS - 1 }),
  /** A pair of tokens, from 0; −1 is the pair whose two scores differ most. */
  from: number(-1, { min: -1, max: MAX_TOKENS - 1 }),
  to: number(-1, { min: -1, max: MAX_TOKENS - 1 }),
  /** Eight factors; empty means all 1. */
  gains: text("", 100),
  /** Indices of tokens, from 0. */
  hidden: text("", 600),
};
export type Settings = Values<typeof fields>;

/** The sentences of the text: one on each line that is not empty. */
export function textsOf({ texts }: Pick<Settings, "texts">): string[] {
  return texts.split("\n").filter((line) => line.trim() !== "");
}

export function gainsOf({ gains }: Pick<Settings, "gains">): number[] {
  const given = gains.split(",").map((gain) => (gain.trim() === "" ? NaN : Number(gain)));
  return Array.from({ length: HEADS }, (_, head) => {
    const gain = given[head];
    return gain === undefined || !Number.isFinite(gain) ? 1 : Math.min(Math.max(gain, 0), LARGEST_GAIN);
  });
}

export function formatGains(gains: readonly number[]): string {
  return gains.every((gain) => gain === 1) ? "" : gains.join(",");
}

export function hiddenOf({ hidden }: Pick<Settings, "hidden">, tokens: number): number[] {
  const given = hidden.split(",").map((token) => (token.trim() === "" ? NaN : Number(token)));
  return [...new Set(given)]
    .filter((token) => Number.isInteger(token) && token >= 0 && token < tokens)
    .sort((a, b) => a - b);
}
