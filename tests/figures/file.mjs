// figures.json: everything that was measured and that a page says. Scripts write it, nobody else.
//
// Each part has a name, the commands that measured it, the date and the machine. It has `figures`, by name, with a value
// and a unit; or it is a table, with `columns`, `rows` of cells by name, and `notes` if there are any.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";

import { root } from "../../web/build/paths.mjs";

const FILE = path.join(root, "tests/figures/figures.json");

export const readParts = () => JSON.parse(readFileSync(FILE, "utf8"));

/** Today, as parts say it. */
export const today = () => new Date().toISOString().slice(0, 10);

/** Keeps a part that was measured now. What has not changed keeps its date and machine. */
export function keep(name, part) {
  const parts = readParts();
  if (isDeepStrictEqual(measuredIn(parts[name]), measuredIn(part))) return;
  writeFileSync(FILE, `${JSON.stringify({ ...parts, [name]: part }, null, 2)}\n`);
}

const measuredIn = ({ figures, columns, rows, notes } = {}) => ({ figures, columns, rows, notes });

/** Keeps figures in a part. Those that were not measured now stay, and those with the same value keep their date. */
export function keepFigures(name, { figures, ...made }) {
  const old = readParts()[name]?.figures ?? {};
  const changed = Object.entries(figures).filter(([each, { value }]) => old[each]?.value !== value);
  keep(name, { ...made, figures: { ...old, ...Object.fromEntries(changed) } });
}

/**
 * Keeps rows in a table. They take the place of older rows of the same name, and the others stay. Rows of one table are of
 * one machine: those of another one go.
 */
export function keepRows(name, { rows, commands, ...made }) {
  const old = readParts()[name];
  const isSame = old?.machine === made.machine;
  const all = isSame ? [...new Set([...old.commands, ...commands])] : commands;
  keep(name, { commands: all, ...made, rows: { ...(isSame && old.rows), ...rows } });
}
