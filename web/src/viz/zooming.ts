import { select } from "d3-selection";
import "d3-transition"; // gives selections the transition() that smooth zooming uses
import { zoom, zoomIdentity, zoomTransform, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";

import { spanInSight } from "./axis.js";
import { type ByAxis, type Span } from "./bins.js";

/** Pixels that a cell may grow to. */
const LARGEST_CELL = 64;
const DURATION = 250;

/** Which part of the map is in sight, and the gestures that change it. Both axes are enlarged alike. */
export class Zooming {
  readonly #behaviour: ZoomBehavior<HTMLElement, unknown>;
  #cells: ByAxis<number> = { rows: 1, columns: 1 };
  #width = 1;
  #height = 1;
  #isQuiet = false;

  /** @param onChange - Hears of every change; `byVisitor` is false for those of the program. */
  constructor(
    readonly target: HTMLElement,
    readonly onChange: (byVisitor: boolean) => void,
  ) {
    this.#behaviour = zoom<HTMLElement, unknown>()
      .filter((event: Event) => this.#takes(event))
      .clickDistance(4)
      .duration(isStill() ? 0 : DURATION)
      .on("zoom", (_event: D3ZoomEvent<HTMLElement, unknown>) => this.onChange(!this.#isQuiet));
    select(target).call(this.#behaviour);
  }

  get sight(): ByAxis<Span> {
    const { k, x, y } = zoomTransform(this.target);
    return {
      rows: spanInSight(this.#cells.rows, this.#height, k, y),
      columns: spanInSight(this.#cells.columns, this.#width, k, x),
    };
  }

  get isEnlarged(): boolean {
    return zoomTransform(this.target).k > 1;
  }

  /** Takes a new size or new extents; the same part stays in sight unless the extents changed. */
  resize(cells: ByAxis<number>, width: number, height: number): void {
    const isSame = cells.rows === this.#cells.rows && cells.columns === this.#cells.columns;
    if (isSame && width === this.#width && height === this.#height) return;
    const { k, x, y } = zoomTransform(this.target);
    const moved = zoomIdentity.translate((x * width) / this.#width, (y * height) / this.#height).scale(k);
    this.#cells = cells;
    this.#width = width;
    this.#height = height;
    const most = Math.max(1, (LARGEST_CELL * cells.columns) / width, (LARGEST_CELL * cells.rows) / height);
    const all: [[number, number], [number, number]] = [
      [0, 0],
      [width, height],
    ];
    this.#behaviour.extent(all).translateExtent(all).scaleExtent([1, most]);
    this.#quietly(() => select(this.target).call(this.#behaviour.transform, isSame ? moved : zoomIdentity));
  }

  /** Brings the smallest part into sight that holds both spans. */
  show({ rows, columns }: ByAxis<Span>): void {
    const zooms = [this.#cells.rows / (rows.to - rows.from), this.#cells.columns / (columns.to - columns.from)];
    const k = Math.max(1, Math.min(...zooms));
    const middle = ({ from, to }: Span, cells: number, size: number) => (((from + to) / 2) * size) / cells;
    this.#quietly(() => {
      const selection = select(this.target);
      selection.call(this.#behaviour.scaleTo, k);
      const x = middle(columns, this.#cells.columns, this.#width);
      selection.call(this.#behaviour.translateTo, x, middle(rows, this.#cells.rows, this.#height));
    });
  }

  /** Moves by whole cells. */
  moveBy(rows: number, columns: number): void {
    if (rows === 0 && columns === 0) return;
    const x = (-columns * this.#width) / this.#cells.columns;
    select(this.target).call(this.#behaviour.translateBy, x, (-rows * this.#height) / this.#cells.rows);
  }

  scaleBy(factor: number): void {
    if (isStill()) select(this.target).call(this.#behaviour.scaleBy, factor);
    else select(this.target).transition().duration(DURATION).call(this.#behaviour.scaleBy, factor);
  }

  reset(): void {
    this.scaleBy(1e-9);
  }

  /** Pinching and Ctrl + wheel always zoom; the wheel alone once the map has the focus; dragging when there is room to. */
  #takes(event: Event): boolean {
    if (event instanceof WheelEvent) return event.ctrlKey || event.metaKey || this.#hasFocus();
    if ("touches" in event) return (event as TouchEvent).touches.length > 1 || this.isEnlarged;
    return !(event as MouseEvent).button && !(event as MouseEvent).ctrlKey;
  }

  #hasFocus(): boolean {
    return (this.target.getRootNode() as ShadowRoot).activeElement === this.target;
  }

  #quietly(change: () => void): void {
    this.#isQuiet = true;
    change();
    this.#isQuiet = false;
  }
}

/** Whether the visitor wants no movement. */
function isStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
