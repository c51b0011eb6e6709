import type { Matrix } from "./matrix.js";

/** The numbers of a matrix, as lines of an array literal. */
export function formatRows({ rows, columns, data }: Matrix): string {
  return Array.from(
    { length: rows },
    (_, row) => `  ${data.slice(row * columns, (row + 1) * columns).join(", ")},`,
  ).join("\n");
}

/** A value as handwritten JavaScript: names without quotes, and one option on each line. */
export function literal(options: Readonly<Record<string, unknown>>): string {
  const inline = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    return `{ ${Object.entries(value)
      .map(([name, inner]) => `${name}: ${inline(inner)}`)
      .join(", ")} }`;
  };
  return `{\n${Object.entries(options)
    .map(([name, value]) => `  ${name}: ${inline(value)},`)
    .join("\n")}\n}`;
}
