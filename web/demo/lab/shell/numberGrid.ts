import { t } from "../../texts/t.js";
import { element, withIndices } from "./element.js";
import { at, entryOf, type Matrix } from "./matrix.js";
import { decimal, plain } from "./numbers.js";
import { tableOf } from "./pastedTable.js";
import { reachableWhenWide } from "./reachable.js";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

/** A number that the visitor has put into a cell. */
export interface Edit extends Cell {
  readonly value: number;
}

export interface GridOptions {
  readonly name: string;
  /** "signed": two hues around 0. "share": one hue, from 0 up. */
  readonly tone?: "signed" | "share";
  readonly digits?: number;
  /** Called when the visitor has typed a number or pasted a table. Without it the numbers are read-only. */
  readonly onEdit?: (edits: readonly Edit[]) => void;
  /** Called with the cell under the pointer or the focus; undefined if there is none any more. */
  readonly onCell?: (cell: Cell | undefined) => void;
}

/** What stands around the numbers. */
export interface GridNotes {
  /** The name to show. Default: the grid's own. */
  readonly name?: string;
  readonly rows?: readonly string[];
  readonly columns?: readonly string[];
  /** What the caption says of the shape. Default "rows × columns". */
  readonly shape?: string;
  /** A gap stands after every so many rows or columns. */
  readonly bins?: { readonly rows?: number; readonly columns?: number };
  /**
   * Numbers that have changed flash; the ones of wave 1 a little later than those of wave 0, and so on. Default: none
   * flashes.
   */
  readonly wave?: number;
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** A matrix with its name, its shape and all numbers. It is one stop of Tab; arrow keys move from cell to cell. */
export class NumberGrid {
  readonly node: HTMLElement;
  readonly #options: GridOptions;
  readonly #table: HTMLTableElement;
  readonly #name = element("b");
  readonly #shape = element("span", { class: "shape" });
  #cells: HTMLTableCellElement[][] = [];
  #built = "";

  constructor(options: GridOptions) {
    this.#options = options;
    this.#table = element("table", { class: `numbers ${options.tone ?? "signed"}` });
    this.node = element(
      "figure",
      { class: "matrix" },
      element("figcaption", {}, this.#name, " ", this.#shape),
      this.#table,
    );
    this.#listen();
    // Numbers that can be read only are no stops of Tab.
    if (!options.onCell && !options.onEdit) reachableWhenWide(this.node, options.name);
  }

  show(m: Matrix, notes: GridNotes = {}): void {
    const { name = this.#options.name, shape = `${m.rows} × ${m.columns}`, wave } = notes;
    const layout = JSON.stringify([m.rows, m.columns, name, notes.rows, notes.columns, notes.bins]);
    const isNew = layout !== this.#built;
    if (isNew) this.#build(m, name, notes);
    this.#built = layout;
    this.#shape.textContent = shape;
    const largest = m.data.filter(Number.isFinite).reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
    const changed = this.#cells.flatMap((cells, row) =>
      cells.filter((cell, column) => this.#showNumber(cell, at(m, row, column), largest)),
    );
    this.#flash(isNew || wave === undefined ? [] : changed, wave ?? 0);
  }

  /** Marks a row and a column; undefined removes the mark. */
  mark({ row, column }: { readonly row?: number | undefined; readonly column?: number | undefined }): void {
    this.light((r, c) => (r === row || c === column ? 1 : 0));
  }

  /** Lights cells: 0 not at all, 1 fully. */
  light(strength: (row: number, column: number) => number): void {
    this.#cells.forEach((cells, row) =>
      cells.forEach((cell, column) => {
        const light = strength(row, column);
        cell.classList.toggle("marked", light > 0);
        cell.style.setProperty("--light", `${(light * 100).toFixed(0)}%`);
      }),
    );
  }

  /** Shows a number. Returns whether it is another one than before. */
  #showNumber(cell: HTMLTableCellElement, value: number, largest: number): boolean {
    const share = Number.isFinite(value) ? Math.abs(value) / largest : 0;
    cell.style.setProperty("--share", `${(share * 100).toFixed(0)}%`);
    cell.classList.toggle("negative", value < 0);
    cell.classList.toggle("hidden", value === -Infinity);
    const input = cell.firstElementChild as HTMLInputElement | null;
    const shown = input ? signed(value) : decimal(value, this.#options.digits);
    const isChanged = cell.dataset["shown"] !== shown;
    cell.dataset["shown"] = shown;
    if (!input) cell.textContent = shown;
    else if (document.activeElement !== input) input.value = brief(value);
    return isChanged;
  }

  #flash(changed: readonly HTMLTableCellElement[], wave: number): void {
    for (const cell of this.#cells.flat()) cell.classList.remove("changed");
    if (changed.length === 0) return;
    void this.#table.offsetWidth; // an animation begins anew only after the browser has seen the cell without it
    for (const cell of changed) {
      cell.classList.add("changed");
      cell.style.setProperty("--wave", String(wave));
    }
  }

  #build(m: Matrix, name: string, { rows = [], columns = [], bins = {} }: GridNotes): void {
    this.#name.replaceChildren(...withIndices(name));
    this.#table.setAttribute("aria-label", name);
    this.#cells = Array.from({ length: m.rows }, (_, row) =>
      Array.from({ length: m.columns }, (__, column) => {
        const cell = this.#cell({ row, column }, name);
        cell.classList.toggle("row-gap", startsBin(row, bins.rows));
        cell.classList.toggle("column-gap", startsBin(column, bins.columns));
        return cell;
      }),
    );
    const head = element("tr", {}, ...(rows.length ? [element("td")] : []), ...columns.map(columnHead));
    const body = this.#cells.map((cells, row) =>
      element(
        "tr",
        {},
        ...(rows.length ? [element("th", { scope: "row", translate: "no" }, rows[row] ?? "")] : []),
        ...cells,
      ),
    );
    this.#table.replaceChildren(...(columns.length ? [element("thead", {}, head)] : []), element("tbody", {}, ...body));
  }

  #cell({ row, column }: Cell, name: string): HTMLTableCellElement {
    const { onEdit, onCell } = this.#options;
    const cell = element("td");
    const tabIndex = row === 0 && column === 0 ? 0 : -1;
    if (!onEdit) {
      if (onCell) cell.tabIndex = tabIndex;
      return cell;
    }
    const input = element("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      "aria-label": t`${name}, row ${row + 1}, column ${column + 1}`,
      tabindex: String(tabIndex),
    });
    input.oninput = () => {
      const value = entryOf(input.value);
      input.ariaInvalid = String(value === undefined);
      if (value !== undefined) onEdit([{ row, column, value }]);
    };
    input.onpaste = (event) => {
      const table = tableOf(event.clipboardData?.getData("text/plain") ?? "");
      if (!table || table.flat().length < 2) return; // one number goes into its cell as if it were typed
      event.preventDefault();
      const edits = table.flatMap((values, r) =>
        values.flatMap((value, c) => (value === undefined ? [] : [{ row: row + r, column: column + c, value }])),
      );
      input.blur(); // its own number is shown again
      onEdit(edits.filter((edit) => this.#cells[edit.row]?.[edit.column]));
    };
    input.onfocus = () => {
      input.value = cell.dataset["shown"]!;
      input.select();
    };
    input.onblur = () => {
      input.value = brief(entryOf(cell.dataset["shown"]!)!);
      input.ariaInvalid = "false";
    };
    cell.append(input);
    return cell;
  }

  #listen(): void {
    const { onCell, onEdit } = this.#options;
    if (!onCell && !onEdit) return;
    this.#table.addEventListener("keydown", (event) => this.#move(event));
    if (!onCell) return;
    for (const event of ["pointerover", "focusin"] as const)
      this.#table.addEventListener(event, ({ target }) => onCell(this.#find(target)));
    for (const event of ["pointerleave", "focusout"] as const)
      this.#table.addEventListener(event, () => onCell(undefined));
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
    const next = (to.firstElementChild as HTMLElement | null) ?? to;
    (event.target as HTMLElement).tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

/** So many signs are seen in a cell. */
const ROOM = 5;

/** A number with as many of its decimals as a cell has room for. All are there while it is typed over. */
function brief(value: number): string {
  const cut = [4, 3, 2, 1, 0].map((digits) => signed(Number(value.toFixed(digits))));
  return cut.find(({ length }) => length <= ROOM) ?? cut.at(-1)!;
}

function signed(value: number): string {
  return plain(value).replace("-", "−");
}

function startsBin(at: number, size: number | undefined): boolean {
  return size !== undefined && at > 0 && at % size === 0;
}

function columnHead(name: string): HTMLTableCellElement {
  return element("th", { scope: "col", translate: "no" }, name);
}
