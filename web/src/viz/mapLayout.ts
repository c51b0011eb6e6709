import type { ByAxis } from "./bins.js";
import { headroom, overhang, sideroom, turnFor } from "./labels.js";

/** Where the plot is in the element, in CSS pixels, and the rotation of the labels above it, in radians. */
export interface MapLayout {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly width: number;
  readonly height: number;
  readonly turn: number;
}

/** The width of the widest label of each axis. */
export interface Labels {
  readonly queries: number;
  readonly keys: number;
  /** Whether the keys have tokens. Without tokens the labels are positions, which are short. */
  readonly areTokens: boolean;
}

/** The largest cell of a small matrix, in CSS pixels. */
const LARGEST_CELL = 64;

/** The smallest width and height of a plot. */
const THINNEST = 28;

/**
 * The layout is computed three times: turned labels need space that depends on the cell size, and the cell size depends
 * on that space.
 */
const PASSES = 3;

/** Square cells that fill the space. Only a plot that would be very thin is made thicker. */
export function mapLayout(cells: ByAxis<number>, room: number, maxHeight: number, labels: Labels): MapLayout {
  const left = sideroom(labels.queries);
  let right = 0;
  let size = fit(cells, room - left, maxHeight);
  for (let pass = 0; pass < PASSES; ++pass) {
    const cell = size.width / cells.columns;
    right = Math.max(right, overhang(labels.keys, cell, turnFor(labels.keys, cell, labels.areTokens)));
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
