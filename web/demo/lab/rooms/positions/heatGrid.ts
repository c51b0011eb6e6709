import { svg } from "../../shell/element.js";
import { at, type Matrix } from "../../shell/matrix.js";
import { decimal } from "../../shell/numbers.js";

export interface HeatGridOptions {
  readonly label: string;
  /** The size of a cell. The picture is as wide as its cells together, and shrinks with its container. */
  readonly cell: { readonly width: number; readonly height: number };
  /** The number with the full colour. */
  readonly largest: number;
  /** The name of a cell, for its tooltip. */
  readonly name: (row: number, column: number) => string;
  /** Rows and columns with a frame around them, from `from` to `to − 1`. */
  readonly frames?: readonly Frame[];
}

export interface Frame {
  readonly rows: readonly [from: number, to: number];
  readonly columns: readonly [from: number, to: number];
}

/** A matrix as coloured cells: one hue above 0, another one below, stronger with size. */
export function heatGrid(m: Matrix, { label, cell, largest, name, frames = [] }: HeatGridOptions): SVGSVGElement {
  const [width, height] = [m.columns * cell.width, m.rows * cell.height];
  const cells = m.data.map((value, i) => {
    const [row, column] = [Math.floor(i / m.columns), i % m.columns];
    const place = { x: column * cell.width, y: row * cell.height, width: cell.width, height: cell.height };
    const shade = {
      class: value < 0 ? "below" : "above",
      "fill-opacity": Math.min(Math.abs(value) / largest, 1).toFixed(3),
    };
    return svg(
      "rect",
      { ...place, ...shade },
      svg("title", {}, `${name(row, column)}: ${decimal(at(m, row, column))}`),
    );
  });
  const rims = frames.map(({ rows, columns }) =>
    svg("rect", {
      x: columns[0] * cell.width,
      y: rows[0] * cell.height,
      width: (columns[1] - columns[0]) * cell.width,
      height: (rows[1] - rows[0]) * cell.height,
      class: "rim",
    }),
  );
  return svg(
    "svg",
    { viewBox: `-1 -1 ${width + 2} ${height + 2}`, class: "heat-grid", role: "img", "aria-label": label },
    ...cells,
    ...rims,
  );
}
