import { percent } from "../model/links.js";
import { rowOf, type Head } from "../model/heads.js";
import { viridis } from "../model/viridis.js";
import { element } from "./element.js";

/** Rows and columns that a key moves by; Home and End go to the ends of the row. */
const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  Home: [0, -Infinity],
  End: [0, Infinity],
  PageUp: [-Infinity, 0],
  PageDown: [Infinity, 0],
};

export interface Cell {
  readonly from: number;
  readonly to: number;
}

/**
 * One head as a grid: row headers are the tokens that look, column headers those that are looked at.
 * The pointer or the arrow keys choose a cell; `onCell` hears of it. One cell at a time is in the tab order.
 */
export function zoomGrid(
  head: Head,
  names: readonly string[],
  start: Cell,
  onCell: (cell: Cell) => void,
): HTMLTableElement {
  const strongest = head.probs.reduce((most, prob) => Math.max(most, prob), 0);
  const columnHeaders = names.map((name) => element("th", { scope: "col" }, element("span", {}, name)));
  const rowHeaders = names.map((name) => element("th", { scope: "row" }, name));
  const cells = names.map((name, from) =>
    Array.from(rowOf(head.probs, from), (prob, to) => {
      const label = `${name} to ${names[to]}: ${percent(prob)}`;
      const cell = element("td", { role: "gridcell", tabindex: "-1", "aria-label": label });
      cell.style.backgroundColor = `rgb(${viridis(prob / strongest).join(" ")})`;
      return cell;
    }),
  );
  const grid = element(
    "table",
    { role: "grid", "aria-labelledby": "zoom-title" },
    element("thead", {}, element("tr", {}, element("td"), ...columnHeaders)),
    element("tbody", {}, ...cells.map((row, from) => element("tr", {}, rowHeaders[from]!, ...row))),
  );
  grid.style.setProperty("--tokens", String(names.length));

  let active = start;
  const choose = (cell: Cell) => {
    mark(active, false);
    active = cell;
    mark(active, true);
    onCell(active);
  };
  const mark = ({ from, to }: Cell, on: boolean) => {
    cells[from]![to]!.tabIndex = on ? 0 : -1;
    for (const node of [cells[from]![to]!, rowHeaders[from]!, columnHeaders[to]!]) node.classList.toggle("active", on);
  };
  const cellOf = (target: EventTarget | null): Cell | undefined => {
    const cell = (target as Element).closest<HTMLTableCellElement>("[role=gridcell]");
    return cell
      ? { from: (cell.parentElement as HTMLTableRowElement).sectionRowIndex, to: cell.cellIndex - 1 }
      : undefined;
  };

  for (const event of ["pointerover", "focusin"] as const) {
    grid.addEventListener(event, ({ target }) => {
      const cell = cellOf(target);
      if (cell) choose(cell);
    });
  }
  grid.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const last = names.length - 1;
    cells[clamped(active.from + step[0], last)]![clamped(active.to + step[1], last)]!.focus();
  });
  choose(start);
  return grid;
}

function clamped(index: number, last: number): number {
  return Math.min(Math.max(index, 0), last);
}
