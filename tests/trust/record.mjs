// Keeps the figures of a run in tests/figures/figures.json: the table of the page Trust, and the tables of rows that have one.

import { keep, readParts } from "../figures/file.mjs";
import { fillPages } from "../figures/pages.mjs";
import { partOf } from "./table.mjs";
import { rows } from "./rows/index.mjs";

/** New rows of the table take the place of older ones. Those that are no longer measured are dropped. */
export function merged(old, now) {
  const all = { ...old, ...now };
  return Object.fromEntries(rows.filter(({ name }) => all[name]).map(({ name }) => [name, all[name]]));
}

export function record(report) {
  const part = partOf(report);
  keep("trust", { ...part, rows: merged(readParts().trust?.rows, part.rows) });
  for (const result of report.results) rows.find(({ name }) => name === result.name).record?.(result, report);
  fillPages();
}
