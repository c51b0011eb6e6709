import type { FormulaData, Table } from "../formula/graph.js";

/** Extents that the tables of a small call need: for its keys, which can be more than the tables have, and its rows. */
const COLUMNS = 640;
const ROWS = 4;

/** The formula for a small call: its tables are repeated until they have an entry for every key. */
export function sampleFormula(formula: FormulaData): FormulaData {
  return {
    ...formula,
    values: formula.values.map((value) => (typeof value === "number" ? value : repeated(value))),
  };
}

function repeated({ data, extents }: Table): Table {
  const columns = extents.at(-1)!;
  const rows = extents.length === 2 ? extents[0]! : 1;
  const [moreRows, moreColumns] = [extents.length === 2 ? Math.max(rows, ROWS) : 1, Math.max(columns, COLUMNS)];
  if (data.length === 0) return { data, extents };
  const more = Float32Array.from(
    { length: moreRows * moreColumns },
    (_, n) => data[(Math.floor(n / moreColumns) % rows) * columns + ((n % moreColumns) % columns)]!,
  );
  return { data: more, extents: extents.length === 2 ? [moreRows, moreColumns] : [moreColumns] };
}
