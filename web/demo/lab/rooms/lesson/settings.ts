import { PARK } from "../../../model/story.js";
import { encoderHead } from "../../shell/encoderHead.js";
import { number, ordinal, text, type Values } from "../../shell/field.js";

export const SCENES = 7;
/** The most tokens that the diagram has rows for. The room Sentence reads more. */
export const MOST_TOKENS = 14;

export const fields = {
  text: text(PARK, 400),
  /** From 1. */
  scene: number(1, { min: 1, max: SCENES }),
  head: encoderHead(0),
  /** The token that asks; −1 is the longest word that occurs twice, or else the first one. */
  word: ordinal(-1, { min: -1, max: MOST_TOKENS - 1 }),
};
export type Settings = Values<typeof fields>;
