import type { Row } from "./rows.js";

const COLUMNS = ["file", "device", "shape", "engine", "version", "median", "low", "high", "roof"] as const;

/** The rows as CSV with every sample, as RFC 4180 describes it. */
export function csvOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => [...COLUMNS.map((name) => cell(row[name])), cell(row.samples.join(" "))]);
  const names = { median: "median_ms", low: "first_quartile_ms", high: "third_quartile_ms", roof: "share_of_roof" };
  const head = [...COLUMNS.map((name) => (names as Record<string, string>)[name] ?? name), "samples_ms"];
  return [head, ...lines].map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** A program for tables takes a text that begins with one of these signs for a formula, and would compute it. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: string | number): string {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const jsonOf = (rows: readonly Row[]): string => `${JSON.stringify(rows, undefined, 1)}\n`;
