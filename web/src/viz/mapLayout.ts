import { type ByAxis } from "./bins.js";
import { guttersFor, turnFor, type Gutters } from "./labels.js";

/** Where the plot lies in the element, in CSS pixels. */
export interface MapLayout extends Gutters {
  readonly width: number;
  readonly height: number;
  readonly turn: number;
}

export interface LabelWidths {
  readonly query: number;
  readonly key: number;
  /** Whether the keys have tokens; positions are short. */
  readonly areTokens: boolean;
}

/** Cells of a small matrix do not grow beyond this. */
const LARGEST_CELL = 64;
/** A plot of a single row or column is no thinner. */
const THINNEST = 28;

/** Square cells in the room there is; only a plot that would be a mere line is made thicker. */
export function mapLayout(cells: ByAxis<number>, room: number, maxHeight: number, labels: LabelWidths): MapLayout {
  // turned labels first: flat ones need no more room than they
  const turned = fit(cells, room, maxHeight, guttersFor(labels.query, labels.key, -1));
  const turn = turnFor(labels.key, turned.width / cells.columns, labels.areTokens);
  return { ...fit(cells, room, maxHeight, guttersFor(labels.query, labels.key, turn)), turn };
}

function fit(cells: ByAxis<number>, room: number, maxHeight: number, gutters: Gutters) {
  const widest = Math.max(room - gutters.left - gutters.right, THINNEST);
  const cell = Math.min(widest / cells.columns, maxHeight / cells.rows, LARGEST_CELL);
  const width = Math.min(Math.max(cell * cells.columns, THINNEST), widest);
  return { ...gutters, width: Math.floor(width), height: Math.floor(Math.max(cell * cells.rows, THINNEST)) };
}
