import type { Span } from "./bins.js";

/** The pixel at which a cell starts. */
export function pixelOf(cell: number, { from, to }: Span, size: number): number {
  return ((cell - from) / (to - from)) * size;
}

/** The cell at a pixel; undefined outside the plot. */
export function cellAt(pixel: number, { from, to }: Span, size: number): number | undefined {
  if (pixel < 0 || pixel >= size) return undefined;
  return Math.min(Math.floor(from + (pixel / size) * (to - from)), Math.ceil(to) - 1);
}

/** A span widened to whole cells. */
export function whole({ from, to }: Span): Span {
  // a rounding error must not add a cell
  return { from: Math.floor(from + 1e-6), to: Math.ceil(to - 1e-6) };
}

/** Every n-th cell of a span, such that labels of `room` pixels do not touch. n is 1, 2 or 5 times a power of ten. */
export function thinned(span: Span, size: number, room: number): number[] {
  const { from, to } = whole(span);
  const least = (room * (span.to - span.from)) / size;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = least <= 1 ? 1 : ([1, 2, 5].map((digit) => digit * power).find((n) => n >= least) ?? 10 * power);
  const cells: number[] = [];
  for (let cell = Math.ceil(from / step) * step; cell < to; cell += step) cells.push(cell);
  return cells;
}

/** The smallest move, in cells, that makes a cell visible. */
export function moveInto(cell: number, { from, to }: Span): number {
  if (cell < from) return cell - from;
  return cell + 1 > to ? cell + 1 - to : 0;
}
