import { pixelOf } from "./axis.js";
import type { ByAxis, Span } from "./bins.js";
import { make } from "./make.js";

/** A cell of the map, by its indices. */
export interface Cell {
  readonly query: number;
  readonly key: number;
}

/** The texts for the cell under the cursor. */
export interface CursorTexts {
  readonly query: string;
  readonly key: string;
  /** The labels of its row and column, as they stand beside the map. */
  readonly queryLabel: string;
  readonly keyLabel: string;
  readonly cell: string;
}

/**
 * The grid for assistive technology, above the canvas. Only one cell and its two headers exist as elements; they move
 * with the cursor. They also draw the cursor: a frame around the cell, two bands, and two marked labels.
 */
export class Cursor {
  readonly #columnHeader = make("span", { role: "columnheader", class: "pill key", translate: "no" });
  readonly #rowHeader = make("span", { role: "rowheader", class: "pill query", translate: "no" });
  readonly #frame = make("span", { role: "gridcell", id: "cell", class: "frame" });
  readonly #bands = [make("i", { class: "band row" }), make("i", { class: "band column" })] as const;
  readonly #headerRow = make("div", { role: "row", "aria-rowindex": "1" }, this.#columnHeader);
  readonly #row = make("div", { role: "row" }, this.#rowHeader, this.#frame);
  readonly element = make(
    "div",
    { class: "grid", role: "grid", tabindex: "0", "aria-readonly": "true" },
    ...this.#bands,
    this.#headerRow,
    this.#row,
  );

  /** Gives assistive technology the name and the size of the grid. */
  describe(label: string, cells: ByAxis<number>): void {
    this.element.setAttribute("aria-label", label);
    this.element.setAttribute("aria-rowcount", String(cells.rows + 1));
    this.element.setAttribute("aria-colcount", String(cells.columns + 1));
  }

  place(left: number, top: number, width: number, height: number): void {
    Object.assign(this.element.style, { left: px(left), top: px(top), width: px(width), height: px(height) });
  }

  /** Where the visible part of the cell is on the screen; undefined if it is not in sight. */
  get frame(): DOMRect | undefined {
    const cell = this.#frame.getBoundingClientRect();
    const plot = this.element.getBoundingClientRect();
    const [left, top] = [Math.max(cell.left, plot.left), Math.max(cell.top, plot.top)];
    const [right, bottom] = [Math.min(cell.right, plot.right), Math.min(cell.bottom, plot.bottom)];
    return right > left && bottom > top ? new DOMRect(left, top, right - left, bottom - top) : undefined;
  }

  hide(): void {
    this.element.classList.remove("active", "locked");
    this.element.removeAttribute("aria-activedescendant");
  }

  show(cell: Cell, texts: CursorTexts, plot: CursorPlot, isLocked: boolean): void {
    this.element.classList.add("active");
    this.element.classList.toggle("locked", isLocked);
    this.element.setAttribute("aria-activedescendant", "cell");
    this.#name(cell, texts);
    const { sight, width, height } = plot;
    const x = pixelOf(cell.key, sight.columns, width);
    const y = pixelOf(cell.query, sight.rows, height);
    const cellWidth = Math.max(width / (sight.columns.to - sight.columns.from), 2);
    const cellHeight = Math.max(height / (sight.rows.to - sight.rows.from), 2);
    place(this.#frame, x, y, cellWidth, cellHeight);
    place(this.#bands[0], 0, y, width, cellHeight);
    place(this.#bands[1], x, 0, cellWidth, height);
    // both cover the labels that they repeat, and no cell
    this.#rowHeader.style.maxWidth = px(plot.left - 2);
    this.#rowHeader.style.transform = `translate(-100%, calc(${px(y + cellHeight / 2)} - 50%)) translateX(-2px)`;
    // centred above its column, but inside the element if it fits
    const middle = x + cellWidth / 2;
    const inside = `max(${px(-plot.left - middle)}, min(-50%, ${px(width + plot.right - middle)} - 100%))`;
    this.#columnHeader.style.transform = `translateX(${px(middle)}) translateX(${inside})`;
  }

  #name(cell: Cell, texts: CursorTexts): void {
    this.#row.setAttribute("aria-rowindex", String(cell.query + 2));
    this.#frame.setAttribute("aria-colindex", String(cell.key + 2));
    this.#columnHeader.setAttribute("aria-colindex", String(cell.key + 2));
    this.#rowHeader.setAttribute("aria-colindex", "1");
    this.#columnHeader.textContent = texts.keyLabel;
    this.#columnHeader.setAttribute("aria-label", texts.key);
    this.#rowHeader.textContent = texts.queryLabel;
    this.#rowHeader.setAttribute("aria-label", texts.query);
    this.#frame.setAttribute("aria-label", texts.cell);
  }
}

/** The plot under the cursor, in CSS pixels. */
export interface CursorPlot {
  /** The space in the element to the left and right of the plot. */
  readonly left: number;
  readonly right: number;
  readonly width: number;
  readonly height: number;
  readonly sight: ByAxis<Span>;
}

function place(element: HTMLElement, x: number, y: number, width: number, height: number): void {
  element.style.transform = `translate(${px(x)}, ${px(y)})`;
  element.style.width = px(width);
  element.style.height = px(height);
}

const px = (length: number) => `${length.toFixed(2)}px`;
