import { sinusoidalPositions } from "headwise";

import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { asTensor, at, matrix, type Matrix } from "../../shell/matrix.js";
import { DIM, learnedTable, PLACES, projected } from "./vocabulary.js";

/** The part of the engine that this room uses. */
export type Computer = Pick<Engine, "scaledDotProductAttention" | "rotaryEmbedding">;

export const KINDS = ["learned", "sinusoidal", "rotary"] as const;
export type PlacedKind = (typeof KINDS)[number];
export type Kind = "none" | PlacedKind;

/** How a model gets the positions of its words. */
export interface Placing {
  readonly kind: Kind;
  readonly base: number;
}

/** The place of the first word. Names of words count from 1 too: park₄ stands at place 4. */
export const FIRST = 1;

/** Queries and keys of words; the first word is at position `start`. */
export async function placed(
  computer: Computer,
  x: Matrix,
  start: number,
  { kind, base }: Placing,
): Promise<{ query: Floats; key: Floats }> {
  const isAdded = kind === "learned" || kind === "sinusoidal";
  const { query, key } = projected(isAdded ? added(x, placesTable(kind, base), start) : x);
  if (kind !== "rotary") return { query: asTensor(query), key: asTensor(key) };
  return {
    query: await turned(computer, asTensor(query), start, base),
    key: await turned(computer, asTensor(key), start, base),
  };
}

export async function turned(computer: Computer, x: Floats, start: number, base: number): Promise<Floats> {
  const { data, shape } = await computer.rotaryEmbedding(x, { positions: start, base });
  return { data: data as Float32Array, shape };
}

/** The table whose row `place` is added to the word at that place. */
export function placesTable(kind: "learned" | "sinusoidal", base: number): Matrix {
  if (kind === "learned") return learnedTable;
  return { rows: PLACES, columns: DIM, data: Array.from(sinusoidalPositions(PLACES, DIM, { base }).data) };
}

function added(x: Matrix, places: Matrix, start: number): Matrix {
  return matrix(x.rows, x.columns, (row, column) => at(x, row, column) + at(places, start + row, column));
}
