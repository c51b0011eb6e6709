import { choice, flag, number, text, type Values } from "../../shell/field.js";
import { DEFAULT_SENTENCES } from "../../../model/story.js";

export const HEADS = 8;
const LARGEST_GAIN = 2;

export const fields = {
  texts: text([...DEFAULT_SENTENCES, "We left the vehicle near the playground."].join("\n")),
  positions: flag(true),
  /** The index of the sentence, from 0. An index that is too high means the last sentence. */
  sentence: number(0, { min: 0, max: 99 }),
  other: number(1, { min: 0, max: 99 }),
  show: choice("weights", ["weights", "links", "scores", "rollout", "compare"]),
  head: number(0, { min: 0, max: HEADS - 1 }),
  /** Eight factors; empty means all 1. */
  gains: text("", 100),
  /** Indices of tokens, from 0. */
  hidden: text("", 600),
};
export type Settings = Values<typeof fields>;

export function textsOf({ texts }: Settings): string[] {
  return texts.split("\n").filter((line) => line.trim() !== "");
}

export function gainsOf({ gains }: Settings): number[] {
  const given = gains.split(",").map((gain) => (gain.trim() === "" ? NaN : Number(gain)));
  return Array.from({ length: HEADS }, (_, head) => {
    const gain = given[head];
    return gain === undefined || !Number.isFinite(gain) ? 1 : Math.min(Math.max(gain, 0), LARGEST_GAIN);
  });
}

export function formatGains(gains: readonly number[]): string {
  return gains.every((gain) => gain === 1) ? "" : gains.join(",");
}

export function hiddenOf({ hidden }: Settings, tokens: number): number[] {
  const given = hidden.split(",").map((token) => (token.trim() === "" ? NaN : Number(token)));
  return [...new Set(given)]
    .filter((token) => Number.isInteger(token) && token >= 0 && token < tokens)
    .sort((a, b) => a - b);
}
