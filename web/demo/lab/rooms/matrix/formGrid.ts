import { transposed, type Matrix } from "../../shell/matrix.js";
import { NumberGrid, type Cell, type GridNotes, type GridOptions } from "../../shell/numberGrid.js";
import type { Form } from "./steps.js";
import type { Region } from "./origin.js";

/**
 * A matrix that stands as it is in the row form, and turned over in the column form. Its caller speaks of rows and
 * columns as in the row form.
 */
export class FormGrid {
  readonly #grid: NumberGrid;
  #form: Form = "rows";

  constructor({ onEdit, onCell, ...options }: GridOptions) {
    this.#grid = new NumberGrid({
      ...options,
      ...(onEdit && { onEdit: (edits) => onEdit(edits.map((edit) => ({ ...edit, ...this.#turned(edit) }))) }),
      ...(onCell && { onCell: (cell) => onCell(cell && this.#turned(cell)) }),
    });
  }

  get node(): HTMLElement {
    return this.#grid.node;
  }

  show(m: Matrix, form: Form, { rows, columns, bins, ...notes }: GridNotes): void {
    this.#form = form;
    if (form === "rows") return this.#grid.show(m, defined({ ...notes, rows, columns, bins }));
    const turned = { rows: columns, columns: rows, bins: bins && defined({ rows: bins.columns, columns: bins.rows }) };
    this.#grid.show(transposed(m), defined({ ...notes, ...turned }));
  }

  /** Lights a region; undefined lights nothing. */
  light(region: Region | undefined): void {
    this.#grid.light((r, c) => {
      const { row, column } = this.#turned({ row: r, column: c });
      const isLit = region && within(row, region.rows) && within(column, region.columns);
      return isLit ? (region.strengths?.[row] ?? 1) : 0;
    });
  }

  #turned({ row, column }: Cell): Cell {
    return this.#form === "rows" ? { row, column } : { row: column, column: row };
  }
}

function within(index: number, [from, until]: readonly [number, number] = [0, Infinity]): boolean {
  return index >= from && index < until;
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The properties that are not undefined. */
function defined<T extends object>(given: T): Given<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given<T>;
}
