import { LARGEST_ENTRY } from "./matrix.js";

/**
 * The rows of numbers in a text, as a spreadsheet, NumPy, JSON or CSV gives them, rounded to 3 decimals; undefined if
 * anything else is in it, or a number is too large.
 */
export function tableOf(text: string): readonly (readonly number[])[] | undefined {
  const lines = text.replace(/\][\s,]*\[/g, "\n").replace(/[[\]()]|array/g, " ").split(/[\n;]/); // oxfmt-ignore
  const parts = (line: string) => (line.includes("\t") ? line.replaceAll(",", ".") : line.replaceAll(",", " "));
  const rows = lines.map((line) => parts(line).split(/\s+/).filter(Boolean)).filter((row) => row.length > 0); // oxfmt-ignore
  const numbers = rows.map((row) => row.map((part) => Math.round(1000 * Number(part.replace("−", "-"))) / 1000));
  return numbers.flat().every((value) => Math.abs(value) <= LARGEST_ENTRY) ? numbers : undefined;
}
