// Rows of a bench of models: printed in columns, and kept as a table of the pages.

import { availableParallelism, cpus } from "node:os";

import { keep, today } from "../../figures/file.mjs";
import { fillPages } from "../../figures/pages.mjs";

export function print(columns, rows) {
  const lines = [columns, ...rows];
  const widths = columns.map((_, n) => Math.max(...lines.map((cells) => cells[n].length)));
  for (const cells of lines) console.log(cells.map((cell, n) => cell.padEnd(widths[n])).join("  ").trimEnd()); // oxfmt-ignore
}

/**
 * Keeps the rows in a table of tests/figures/figures.json.
 *
 * @param {string} table
 * @param {string} command - without its options, which are those of this process
 */
export function record(table, command, columns, rows) {
  const given = process.argv.slice(2).filter((option) => option !== "--record");
  const [node, ...program] = command.split(" ");
  keep(table, {
    commands: [[node, ...process.execArgv, ...program, ...given].join(" ")],
    date: today(),
    machine: `${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.versions.node}`,
    columns,
    rows: Object.fromEntries(rows.map((cells) => [cells[0], cells])),
  });
  fillPages();
}
