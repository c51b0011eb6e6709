import { flag, number, ordinal, type Values } from "../../shell/field.js";

/** The features of a head here. */
export const DIM = 4;

/** The first values show a row in the middle of its work: tiles are done, and a larger score has just come. */
export const fields = {
  length: number(16, { min: 4, max: 48 }),
  tileQueries: number(4, { min: 1, max: 16 }),
  tileKeys: number(4, { min: 1, max: 16 }),
  causal: flag(true),
  /** The tile that is computed now, of those that are not skipped. */
  step: ordinal(7, { max: 48 * 48 }),
  /** The row of the tile whose numbers are shown, from 0, as the room counts rows. */
  row: number(2, { min: 0, max: 15 }),
  /** The length, as a power of two. */
  long: number(13, { min: 7, max: 17 }),
};
export type Settings = Values<typeof fields>;
