import { element, svg } from "./element.js";

export interface TileShape {
  readonly rows: number;
  readonly columns: number;
  /** The CSS class of each tile, row by row. */
  readonly states: readonly string[];
}

/** Tiles as coloured squares. `svg rect.<state>` in the style sheet gives the colour; "edge" also has a corner. */
export function tilePicture({ rows, columns, states }: TileShape, label: string): SVGSVGElement {
  const tiles = states.map((state, index) =>
    svg("rect", {
      class: state,
      x: (index % columns) + 0.04,
      y: Math.floor(index / columns) + 0.04,
      width: 0.92,
      height: 0.92,
      rx: 0.1,
    }),
  );
  const corners = states.flatMap((state, index) => {
    const corner = `M${(index % columns) + 0.04} ${Math.floor(index / columns) + 0.04}h.46l-.46 .46z`;
    return state === "edge" ? [svg("path", { class: "corner", d: corner })] : [];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${columns} ${rows}`, class: "tiles", role: "img", "aria-label": label },
    ...tiles,
    ...corners,
  );
}

/** The meaning of the colours: pairs of a state and its text. */
export function tileLegend(...entries: readonly (readonly [state: string, words: string])[]): HTMLElement {
  const line = ([state, words]: readonly [string, string]) =>
    element("span", {}, element("i", { class: `swatch ${state}` }), words);
  return element("div", { class: "legend" }, ...entries.map(line));
}
