import { entryOf } from "./matrix.js";

/** A number; undefined where a spreadsheet has an empty cell. */
type Entry = number | undefined;

/**
 * The rows of numbers in a text, as a spreadsheet, NumPy, JSON or CSV gives them, rounded to 3 decimals; undefined if
 * anything else is in it, or a number is too large.
 */
export function tableOf(text: string): readonly (readonly Entry[])[] | undefined {
  const rows = linesOf(text).filter((row) => row.some((cell) => cell !== ""));
  const table = rows.map((row) => row.map((cell) => (cell === "" ? undefined : rounded(entryOf(cell)))));
  const isRead = rows.every((row, r) => row.every((cell, c) => cell === "" || table[r]![c] !== undefined));
  return isRead ? table : undefined;
}

/** The cells of each line. In brackets a row ends with its bracket, and may have more than one line, as NumPy prints long ones. */
function linesOf(text: string): string[][] {
  const isNested = /[[(]\s*\[/.test(text);
  const bare = text
    .replace(/,\s*[a-z]\w*=.*\)\s*$/is, "") // dtype=float32
    .replace(/\][\s,]*\[/g, ";")
    .replace(/[[\]()]|array|tensor/g, " ");
  if (!isNested && isCsv(text)) return bare.split(/\r?\n/).map((line) => trimmed(line.split(";")));
  return bare.split(isNested ? ";" : /\r?\n|;/).map(cellsOf);
}

/** Whether semicolons stand between the numbers of a line, as where the decimal mark is a comma. */
function isCsv(text: string): boolean {
  const lines = text.trim().split(/;?\s*\n/);
  return lines.length > 1 && lines.every((line) => /^[^;\s[\]]*(;[^;\s[\]]*)+$/.test(line));
}

function cellsOf(line: string): string[] {
  if (line.includes("\t")) return trimmed(line.split("\t"));
  const whole = line.trim().replace(/,$/, "");
  return whole === "" ? [] : whole.split(/\s*,\s*|\s+/);
}

const trimmed = (cells: readonly string[]) => cells.map((cell) => cell.trim());

function rounded(value: Entry): Entry {
  return value === undefined ? undefined : Math.round(1000 * value) / 1000;
}
