import type { ByAxis, Span } from "./bins.js";
import { Gestures } from "./gestures.js";
import { between, panned, sightOf, viewOf, WHOLE, zoomed, type Place, type View } from "./view.js";

/** The largest size of a cell, in pixels. */
const LARGEST_CELL = 64;
const DURATION = 200;
const MIDDLE: Place = { x: 0.5, y: 0.5 };

/** Which part of the map is visible, and the moves and zooms that change it. */
export class Zooming {
  #view = WHOLE;
  #cells: ByAxis<number> = { rows: 1, columns: 1 };
  #size = { width: 1, height: 1 };
  #most = 1;
  #frame = 0;
  /** The view in which a running animation ends. */
  #aim = WHOLE;
  readonly #gestures: Gestures;

  /** @param onChange - Called on every change. `byVisitor` is false if the program caused it. */
  constructor(
    target: HTMLElement,
    readonly onChange: (byVisitor: boolean) => void,
  ) {
    this.#gestures = new Gestures(target, {
      canPan: () => this.isEnlarged,
      onPan: (by) => this.#go(panned(this.#view, by)),
      onZoom: (factor, at, isSmooth) => this.#zoom(factor, at, isSmooth),
    });
  }

  get sight(): ByAxis<Span> {
    return sightOf(this.#view, this.#cells);
  }

  /** The extents of the whole map. */
  get cells(): ByAxis<number> {
    return this.#cells;
  }

  /** The size of the plot, in CSS pixels. */
  get size(): { readonly width: number; readonly height: number } {
    return this.#size;
  }

  get isEnlarged(): boolean {
    return this.#view.zoom > 1;
  }

  get isDragging(): boolean {
    return this.#gestures.isDragging;
  }

  /** Sets extents and size. The view stays the same unless the extents change. */
  resize(cells: ByAxis<number>, width: number, height: number): void {
    const isSame = cells.rows === this.#cells.rows && cells.columns === this.#cells.columns;
    this.#cells = cells;
    this.#size = { width, height };
    this.#most = Math.max(1, (LARGEST_CELL * cells.columns) / width, (LARGEST_CELL * cells.rows) / height);
    if (!isSame) this.#set(WHOLE, false);
  }

  /** Shows the smallest part that holds both spans. */
  show(spans: ByAxis<Span>): void {
    this.#set(viewOf(spans, this.#cells, this.#most), false);
  }

  /** Moves the view by cells. */
  moveBy(rows: number, columns: number): void {
    if (rows === 0 && columns === 0) return;
    const { zoom } = this.#view;
    this.#go(panned(this.#view, { x: (-columns * zoom) / this.#cells.columns, y: (-rows * zoom) / this.#cells.rows }));
  }

  scaleBy(factor: number): void {
    this.#zoom(factor, MIDDLE, true);
  }

  reset(): void {
    this.#glide(WHOLE);
  }

  #zoom(factor: number, at: Place, isSmooth: boolean): void {
    if (isSmooth) this.#glide(zoomed(this.#aimed(), factor, at, this.#most));
    else this.#go(zoomed(this.#view, factor, at, this.#most));
  }

  #aimed(): View {
    return this.#frame ? this.#aim : this.#view;
  }

  /** Animates to a view, or jumps to it if the visitor prefers reduced motion. */
  #glide(aim: View): void {
    cancelAnimationFrame(this.#frame);
    this.#aim = aim;
    const from = this.#view;
    const duration = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : DURATION;
    const started = performance.now();
    const step = (now: number) => {
      const t = duration > 0 ? Math.min(Math.max((now - started) / duration, 0), 1) : 1;
      this.#set(between(from, aim, t * (2 - t)), true);
      this.#frame = t < 1 ? requestAnimationFrame(step) : 0;
    };
    step(started);
  }

  #go(view: View): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#set(view, true);
  }

  #set(view: View, byVisitor: boolean): void {
    const { zoom, x, y } = this.#view;
    if (view.zoom === zoom && view.x === x && view.y === y) return;
    this.#view = view;
    this.onChange(byVisitor);
  }
}
