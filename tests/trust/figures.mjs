// Reads the figures that tests note in a file (tests/web/figures.ts).

import { existsSync, readFileSync } from "node:fs";

/** The numbers by name. */
export function figuresIn(file) {
  const figures = new Map();
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").filter(Boolean) : [];
  for (const { name, value } of lines.map((line) => JSON.parse(line)))
    figures.set(name, [...(figures.get(name) ?? []), value]);
  return figures;
}

export const sumOf = (numbers = []) => numbers.reduce((sum, x) => sum + x, 0);
export const largestOf = (numbers = []) => numbers.reduce((most, x) => Math.max(most, x), 0);

/** The verdict of test counts, and a sentence if some were skipped or failed. */
export function verdictOf({ passed, failed, skipped }) {
  const verdict = failed > 0 ? "failed" : passed > 0 ? "held" : "skipped";
  const rest = [failed && `${failed} tests failed`, skipped && `${skipped} tests skipped`].filter(Boolean);
  return { verdict, rest: rest.length ? ` (${rest.join(", ")})` : "" };
}
