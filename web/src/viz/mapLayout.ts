import type { ByAxis } from "./bins.js";
import { headroom, overhang, sideroom, turnFor } from "./labels.js";

/** Where the plot lies in the element, and the turn of the labels above it; in CSS pixels and radians. */
export interface MapLayout {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly width: number;
  readonly height: number;
  readonly turn: number;
}

/** Widths of the labels of both axes. */
export interface Labels {
  readonly queries: readonly number[];
  readonly keys: readonly number[];
  /** Whether the keys have tokens; positions are short. */
  readonly areTokens: boolean;
}

/** Cells of a small matrix do not grow beyond this. */
const LARGEST_CELL = 64;

/** A plot of a single row or column is no thinner. */
const THINNEST = 28;

/** Each pass knows the cells of the one before: the room that turned labels need depends on them, and they on it. */
const PASSES = 3;

/** Square cells in the room there is; only a plot that would be a mere line is made thicker. */
export function mapLayout(cells: ByAxis<number>, room: number, maxHeight: number, labels: Labels): MapLayout {
  const left = sideroom(labels.queries);
  let right = 0;
  let size = fit(cells, room - left, maxHeight);
  for (let pass = 0; pass < PASSES; ++pass) {
    const cell = size.width / cells.columns;
    right = Math.max(right, overhang(labels.keys, cells.columns, cell, turnFor(labels.keys, cell, labels.areTokens)));
    size = fit(cells, room - left - right, maxHeight);
  }
  const turn = turnFor(labels.keys, size.width / cells.columns, labels.areTokens);
  return { ...size, left, right, top: headroom(labels.keys, turn), turn };
}

function fit(cells: ByAxis<number>, room: number, maxHeight: number): Pick<MapLayout, "width" | "height"> {
  const widest = Math.max(room, THINNEST);
  const cell = Math.min(widest / cells.columns, maxHeight / cells.rows, LARGEST_CELL);
  const width = Math.min(Math.max(cell * cells.columns, THINNEST), widest);
  return { width: Math.floor(width), height: Math.floor(Math.max(cell * cells.rows, THINNEST)) };
}
