import type { ByAxis, Span } from "./bins.js";

/** A part of a map: `1 / zoom` of each axis, from `x` and `y` on. All are shares of the whole. */
export interface View {
  readonly zoom: number;
  readonly x: number;
  readonly y: number;
}

/** A point in the plot, as shares of its width and height. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

export const WHOLE: View = { zoom: 1, x: 0, y: 0 };

export function sightOf({ zoom, x, y }: View, cells: ByAxis<number>): ByAxis<Span> {
  const span = (start: number, extent: number) => ({ from: start * extent, to: (start + 1 / zoom) * extent });
  return { rows: span(y, cells.rows), columns: span(x, cells.columns) };
}

/** Zooms in by a factor, up to the zoom `most`. The point `at` stays where it is. */
export function zoomed(view: View, factor: number, at: Place, most: number): View {
  const zoom = Math.min(Math.max(view.zoom * factor, 1), most);
  const gained = 1 / view.zoom - 1 / zoom;
  return inside({ zoom, x: view.x + at.x * gained, y: view.y + at.y * gained });
}

/** Moves a view by shares of the plot. */
export function panned(view: View, { x, y }: Place): View {
  return inside({ zoom: view.zoom, x: view.x - x / view.zoom, y: view.y - y / view.zoom });
}

/** The smallest view that holds both spans. Their middle is its middle. */
export function viewOf({ rows, columns }: ByAxis<Span>, cells: ByAxis<number>, most: number): View {
  const zooms = [cells.rows / (rows.to - rows.from), cells.columns / (columns.to - columns.from), most];
  const zoom = Math.max(1, Math.min(...zooms));
  const start = ({ from, to }: Span, extent: number) => (from + to) / 2 / extent - 0.5 / zoom;
  return inside({ zoom, x: start(columns, cells.columns), y: start(rows, cells.rows) });
}

/** A view between two others. The zoom changes by equal factors, as the eye expects. */
export function between(a: View, b: View, t: number): View {
  if (t >= 1) return b;
  const zoom = a.zoom * (b.zoom / a.zoom) ** t;
  // the position follows the change of the visible size, so that a fixed point stays where it is
  const share = a.zoom === b.zoom ? t : (1 / a.zoom - 1 / zoom) / (1 / a.zoom - 1 / b.zoom);
  return inside({ zoom, x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y) });
}

function inside({ zoom, x, y }: View): View {
  const last = 1 - 1 / zoom;
  return { zoom, x: Math.min(Math.max(x, 0), last), y: Math.min(Math.max(y, 0), last) };
}
