import { encoderHead } from "../../shell/encoderHead.js";
import { choice, flag, ordinal, text, type Values } from "../../shell/field.js";
import { MAX_TOKENS } from "../../../model/encoder.js";
import { FIRST_SENTENCES } from "../../../model/story.js";

const HEADS = 8;
const LARGEST_GAIN = 2;
/** The most sentences that the model reads. The others stay in the text. */
export const MOST_SENTENCES = 12;
const LONGEST_TEXT = 100_000;

export const fields = {
  texts: text(FIRST_SENTENCES.join("\n"), LONGEST_TEXT),
  positions: flag(true),
  /** A place that is too high means the last sentence. */
  sentence: ordinal(0, { max: 99 }),
  other: ordinal(1, { max: 99 }),
  show: choice("links", ["links", "weights", "scores", "rollout", "compare"]),
  /** The first one tells most about the two “park” (`tellingHead`). */
  head: encoderHead(0),
  /** A pair of tokens; −1 is the pair whose two scores differ most. */
  from: ordinal(-1, { min: -1, max: MAX_TOKENS - 1 }),
  to: ordinal(-1, { min: -1, max: MAX_TOKENS - 1 }),
  /** Eight factors; empty means all 1. */
  gains: text("", 100),
  /** Places of tokens, from 1, as in "2,5". */
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

/** The indices of the tokens that are hidden, from 0. */
export function hiddenOf({ hidden }: Pick<Settings, "hidden">, tokens: number): number[] {
  const given = hidden.split(",").map((token) => (token.trim() === "" ? NaN : Number(token) - 1));
  return [...new Set(given)]
    .filter((token) => Number.isInteger(token) && token >= 0 && token < tokens)
    .sort((a, b) => a - b);
}

export function formatHidden(tokens: readonly number[]): string {
  return tokens.map((token) => token + 1).join(",");
}
