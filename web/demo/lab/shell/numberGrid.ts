import { element } from "./element.js";
import { at, type Matrix } from "./matrix.js";
import { decimal } from "./numbers.js";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

export interface GridOptions {
  readonly name: string;
  /** "signed": two hues around 0. "share": one hue, from 0 up. */
  readonly tone?: "signed" | "share";
  readonly digits?: number;
  /** Called when the visitor has changed a number. Without it the numbers are read-only. */
  readonly onEdit?: (cell: Cell, value: number) => void;
  /** Called with the cell under the pointer or the focus; undefined if there is none any more. */
  readonly onCell?: (cell: Cell | undefined) => void;
}

export interface GridLabels {
  readonly rows?: readonly string[];
  readonly columns?: readonly string[];
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** A matrix with its name, its shape and all numbers. Arrow keys move from cell to cell. */
export class NumberGrid {
  readonly node: HTMLElement;
  readonly #options: GridOptions;
  readonly #table: HTMLTableElement;
  readonly #shape = element("span", { class: "shape" });
  #cells: HTMLTableCellElement[][] = [];
  #labels = "";

  constructor(options: GridOptions) {
    this.#options = options;
    this.#table = element("table", { class: `numbers ${options.tone ?? "signed"}`, "aria-label": options.name });
    const caption = element("figcaption", {}, element("b", {}, options.name), " ", this.#shape);
    this.node = element("figure", { class: "matrix" }, caption, this.#table);
    this.#listen();
  }

  show(m: Matrix, { rows = [], columns = [] }: GridLabels = {}): void {
    const labels = JSON.stringify([m.rows, m.columns, rows, columns]);
    if (labels !== this.#labels) this.#build(m, rows, columns);
    this.#labels = labels;
    this.#shape.textContent = `${m.rows} × ${m.columns}`;
    const largest = m.data.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
    this.#cells.forEach((cells, row) =>
      cells.forEach((cell, column) => this.#showNumber(cell, at(m, row, column), largest)),
    );
  }

  /** Marks a row and a column; undefined removes the mark. */
  mark({ row, column }: { readonly row?: number | undefined; readonly column?: number | undefined }): void {
    this.#cells.forEach((cells, r) =>
      cells.forEach((cell, c) => cell.classList.toggle("marked", r === row || c === column)),
    );
  }

  #showNumber(cell: HTMLTableCellElement, value: number, largest: number): void {
    const share = Number.isFinite(value) ? Math.abs(value) / largest : 0;
    cell.style.setProperty("--share", `${(share * 100).toFixed(0)}%`);
    cell.classList.toggle("negative", value < 0);
    cell.classList.toggle("hidden", value === -Infinity);
    const input = cell.firstElementChild as HTMLInputElement | null;
    if (!input) cell.textContent = decimal(value, this.#options.digits);
    else if (document.activeElement !== input) input.value = String(value);
  }

  #build(m: Matrix, rows: readonly string[], columns: readonly string[]): void {
    const { name, onEdit, onCell } = this.#options;
    this.#cells = Array.from({ length: m.rows }, (_, row) =>
      Array.from({ length: m.columns }, (__, column) => {
        const cell = element("td");
        if (onEdit) {
          const label = `${name}, row ${row + 1}, column ${column + 1}`;
          const input = element("input", { type: "number", step: "0.5", "aria-label": label });
          input.oninput = () => Number.isFinite(input.valueAsNumber) && onEdit({ row, column }, input.valueAsNumber);
          cell.append(input);
        } else if (onCell) cell.tabIndex = row === 0 && column === 0 ? 0 : -1;
        return cell;
      }),
    );
    const head = element("tr", {}, ...(rows.length ? [element("td")] : []), ...columns.map(columnHead));
    const body = this.#cells.map((cells, row) =>
      element("tr", {}, ...(rows.length ? [element("th", { scope: "row" }, rows[row] ?? "")] : []), ...cells),
    );
    this.#table.replaceChildren(...(columns.length ? [element("thead", {}, head)] : []), element("tbody", {}, ...body));
  }

  #listen(): void {
    const { onCell, onEdit } = this.#options;
    if (!onCell) return;
    for (const event of ["pointerover", "focusin"] as const)
      this.#table.addEventListener(event, ({ target }) => onCell(this.#find(target)));
    for (const event of ["pointerleave", "focusout"] as const)
      this.#table.addEventListener(event, () => onCell(undefined));
    if (!onEdit) this.#table.addEventListener("keydown", (event) => this.#move(event));
  }

  #find(target: EventTarget | null): Cell | undefined {
    for (const [row, cells] of this.#cells.entries()) {
      const column = cells.findIndex((cell) => cell.contains(target as Node));
      if (column >= 0) return { row, column };
    }
    return undefined;
  }

  #move(event: KeyboardEvent): void {
    const step = MOVES[event.key];
    const from = this.#find(event.target);
    const to = step && from && this.#cells[from.row + step[0]]?.[from.column + step[1]];
    if (!to) return;
    event.preventDefault();
    (event.target as HTMLElement).tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
}

function columnHead(name: string): HTMLTableCellElement {
  return element("th", { scope: "col" }, name);
}
