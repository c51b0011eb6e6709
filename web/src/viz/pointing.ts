import { cellAt, moveInto, whole } from "./axis.js";
import type { Cell } from "./cursor.js";
import type { Zooming } from "./zooming.js";

export interface PointingEvents {
  /** Called when the visitor has moved to another cell, or to none. A cell that is only passed over is not read aloud. */
  readonly onCell: (cell: Cell | null, isAloud: boolean) => void;
  readonly onLock: () => void;
  /** Called if the visitor wants the head before (−1) or after (1) this one. */
  readonly onHead: (step: -1 | 1) => void;
}

/**
 * How many rows and columns a key moves the cursor. Infinity means the end. With Ctrl, Home and End go to the corners.
 */
const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
  "Ctrl+Home": [-Infinity, -Infinity],
  "Ctrl+End": [Infinity, Infinity],
};

/** The cell that the visitor points at, with the pointer or the keyboard, and whether it is locked. */
export class Pointing {
  /** The cell; null if there is none. */
  cell: Cell | null = null;
  isLocked = false;
  #pointer: { readonly x: number; readonly y: number } | undefined;
  #frame = 0;

  constructor(
    readonly grid: HTMLElement,
    readonly zooming: Zooming,
    readonly events: PointingEvents,
  ) {
    grid.addEventListener("pointermove", (event) => this.#pointed(event));
    grid.addEventListener("pointerleave", () => {
      this.#pointer = undefined;
      if (!this.isLocked && !this.#hasFocus()) this.#go(null, false);
    });
    grid.addEventListener("click", (event) => this.#clicked(event));
    grid.addEventListener("keydown", (event) => this.#keyPressed(event));
    grid.addEventListener("focus", () => {
      if (!this.cell && grid.matches(":focus-visible")) this.#go(this.#first(), true);
    });
    grid.addEventListener("blur", () => {
      if (!this.isLocked && !this.#pointer) this.#go(null, false);
    });
  }

  /** Forgets a cell that the map does not have. */
  checkCell(): void {
    const { rows, columns } = this.zooming.cells;
    if (!this.cell || (this.cell.query < rows && this.cell.key < columns)) return;
    this.cell = null;
    this.isLocked = false;
  }

  #hasFocus(): boolean {
    return (this.grid.getRootNode() as ShadowRoot).activeElement === this.grid;
  }

  #go(cell: Cell | null, isAloud: boolean): void {
    if (cell?.query === this.cell?.query && cell?.key === this.cell?.key) return;
    this.cell = cell;
    this.events.onCell(cell, isAloud);
  }

  #lock(isLocked: boolean): void {
    this.isLocked = isLocked;
    this.events.onLock();
  }

  /** Handles pointer moves at most once in an animation frame. */
  #pointed(event: PointerEvent): void {
    this.#pointer = { x: event.offsetX, y: event.offsetY };
    if (this.isLocked || this.zooming.isDragging || event.pointerType === "touch") return;
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const cell = this.#pointer && this.#under(this.#pointer.x, this.#pointer.y);
      if (cell) this.#go(cell, false);
    });
  }

  #clicked(event: MouseEvent): void {
    this.grid.focus({ preventScroll: true });
    const cell = this.#under(event.offsetX, event.offsetY);
    if (!cell) return;
    const isSame = cell.query === this.cell?.query && cell.key === this.cell.key;
    const unlocks = this.isLocked && isSame;
    this.#go(cell, true);
    this.#lock(!unlocks);
  }

  #under(x: number, y: number): Cell | undefined {
    const { sight, size } = this.zooming;
    const key = cellAt(x, sight.columns, size.width);
    const query = cellAt(y, sight.rows, size.height);
    return key === undefined || query === undefined ? undefined : { query, key };
  }

  #first(): Cell {
    const { rows, columns } = this.zooming.sight;
    return { query: whole(rows).from, key: whole(columns).from };
  }

  #keyPressed(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey) return;
    const step = STEPS[event.ctrlKey ? `Ctrl+${event.key}` : event.key];
    const act = step ? () => this.#step(step) : event.ctrlKey ? undefined : this.#actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  readonly #actions: Readonly<Record<string, () => void>> = {
    Enter: () => this.#lock(!this.isLocked),
    " ": () => this.#lock(!this.isLocked),
    Escape: () => this.#lock(false),
    "+": () => this.zooming.scaleBy(2),
    "=": () => this.zooming.scaleBy(2),
    "-": () => this.zooming.scaleBy(1 / 2),
    "0": () => this.zooming.reset(),
    "[": () => this.events.onHead(-1),
    "]": () => this.events.onHead(1),
  };

  #step([rows, columns]: readonly [number, number]): void {
    const { sight, cells } = this.zooming;
    const { query, key } = this.cell ?? this.#first();
    const cell = { query: clamped(query + rows, cells.rows), key: clamped(key + columns, cells.columns) };
    this.zooming.moveBy(moveInto(cell.query, sight.rows), moveInto(cell.key, sight.columns));
    this.#go(cell, true);
  }
}

const clamped = (index: number, extent: number) => Math.min(Math.max(index, 0), extent - 1);
