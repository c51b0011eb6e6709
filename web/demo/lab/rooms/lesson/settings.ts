import { PARK } from "../../../model/story.js";
import { number, text, type Values } from "../../shell/field.js";

export const SCENES = 7;
const HEADS = 8;
/** The most tokens that the diagram has rows for. The room Sentence reads more. */
export const MOST_TOKENS = 14;

export const fields = {
  text: text(PARK, 400),
  /** From 1. */
  scene: number(1, { min: 1, max: SCENES }),
  /** Counted over both layers, from 0. */
  head: number(0, { min: 0, max: HEADS - 1 }),
  /** The token that asks, from 0; −1 is the longest word that occurs twice, or else the first one. */
  word: number(-1, { min: -1, max: MOST_TOKENS - 1 }),
};
export type Settings = Values<typeof fields>;
