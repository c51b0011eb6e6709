import { sinusoidalPositions } from "headwise";

import type { Engine } from "../../engine/engine.js";
import type { Floats } from "../../engine/floats.js";
import { asTensor, at, matrix, type Matrix } from "../../shell/matrix.js";
import { DIM, learnedTable, PLACES, projected } from "./words.js";

export const KINDS = ["none", "learned", "sinusoidal", "rotary"] as const;
export type Kind = (typeof KINDS)[number];

/** How a model gets the positions of its words. */
export interface Placing {
  readonly kind: Kind;
  readonly base: number;
}

/** Queries and keys of words; the first word is at position `start`. */
export async function placed(
  engine: Engine,
  x: Matrix,
  start: number,
  { kind, base }: Placing,
): Promise<{ query: Floats; key: Floats }> {
  const { query, key } = projected(
    kind === "learned" || kind === "sinusoidal" ? added(x, table(kind, base), start) : x,
  );
  if (kind !== "rotary") return { query: asTensor(query), key: asTensor(key) };
  return {
    query: await turned(engine, asTensor(query), start, base),
    key: await turned(engine, asTensor(key), start, base),
  };
}

export async function turned(engine: Engine, x: Floats, start: number, base: number): Promise<Floats> {
  const { data, shape } = await engine.rotaryEmbedding(x, { positions: start, base });
  return { data: data as Float32Array, shape };
}

function table(kind: "learned" | "sinusoidal", base: number): Matrix {
  if (kind === "learned") return learnedTable;
  return { rows: PLACES, columns: DIM, data: Array.from(sinusoidalPositions(PLACES, DIM, { base }).data) };
}

function added(x: Matrix, places: Matrix, start: number): Matrix {
  return matrix(x.rows, x.columns, (row, column) => at(x, row, column) + at(places, start + row, column));
}
