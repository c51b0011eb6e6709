import type { Kind } from "./colours.js";

/** What is known about a cell. */
export interface CellReading {
  readonly head: number;
  readonly query: number;
  readonly key: number;
  /** The exact number; undefined if its row has not arrived. */
  readonly value: number | undefined;
  readonly hidden: boolean;
  readonly locked: boolean;
}

/** The tokens of both axes. A missing token is shown as its position. */
export interface Tokens {
  readonly queries: readonly string[];
  readonly keys: readonly string[];
}

/** A sentence about a cell. */
export function sentence(reading: CellReading, kind: Kind, tokens: Tokens): string {
  const { query, key, value, hidden } = reading;
  const from = named("query", tokens.queries, query);
  const to = named("key", tokens.keys, key);
  if (hidden) return `${from} may not attend to ${to}.`;
  if (value === undefined) return `${from} and ${to}: being computed.`;
  if (kind === "scores") return `${from} scores ${to} with ${number(value)}.`;
  return `${from} gives ${percent(value)} of its attention to ${to}.`;
}

/** “cat” (3), or query 3 if there are no tokens. */
export function named(axis: "query" | "key", tokens: readonly string[], index: number): string {
  const token = tokens[index];
  return token === undefined ? `${axis} ${index}` : `“${token}” (${index})`;
}

/** A percentage with at most four significant digits. */
export function percent(value: number): string {
  return value > 0 && value < 1e-6 ? "less than 0.0001 %" : `${number(100 * value)} %`;
}

export function number(value: number): string {
  return String(Number(value.toPrecision(4))).replace("-", "−");
}
