// Keeps the figures of a run: rows in tests/trust/record.json, the table of all kept rows in the README, and the pages of
// rows that have one.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";
import { withPart } from "./marks.mjs";
import { tableOf } from "./table.mjs";
import { rows } from "./rows/index.mjs";

const FILE = path.join(root, "tests/trust/record.json");
const README = path.join(root, "README.md");
const MARKS = {
  file: "README.md",
  begin: "<!-- trust: npm run trust -- --record writes what is between these lines -->",
  end: "<!-- end of trust -->",
};

const kept = () => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")).results : []);

/** New results take the place of older ones of the same row. Rows that no longer exist are dropped. */
export function merged(old, results) {
  const newest = (name) => results.find((row) => row.name === name) ?? old.find((row) => row.name === name);
  return rows.map(({ name }) => newest(name)).filter((row) => row !== undefined);
}

/** The README with the table between its two marks. */
export const withTable = (readme, report) => withPart(readme, MARKS, tableOf(report));

export function record({ machine, results }) {
  const report = { machine, results: merged(kept(), results) };
  const figuresOnly = (key, value) => (key === "numbers" ? undefined : value); // they stay in build/trust/trust.json
  writeFileSync(FILE, `${JSON.stringify(report, figuresOnly, 2)}\n`);
  writeFileSync(README, withTable(readFileSync(README, "utf8"), report));
  for (const result of results) rows.find(({ name }) => name === result.name).record?.(result, machine);
}
