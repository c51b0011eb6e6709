import { OptionError } from "../base/errors.js";
import { argument } from "../read/options.js";
import type { Cell } from "./cursor.js";
import { assigned, readFields, readPair } from "./property.js";

/**
 * Which number gets the full colour: `"max"`, the maximum of the head; `"row"`, the maximum of each row; `"unit"`, 1;
 * or `[low, high]`, the ends of the palette.
 */
export type Range = "max" | "row" | "unit" | readonly [low: number, high: number];

/** A part of the map. `[from, to]` are the cells from `from` to `to − 1`. */
export interface MapView {
  readonly queries: readonly [from: number, to: number];
  readonly keys: readonly [from: number, to: number];
}

/** The whole map, of any size. */
const WHOLE: MapView = { queries: [0, Infinity], keys: [0, Infinity] };

export function isRangeName(value: unknown): value is "max" | "row" | "unit" {
  return value === "max" || value === "row" || value === "unit";
}

export function readRange(element: string, value: unknown): Range | undefined {
  const option = assigned(element, "range", value);
  const range = option.value("range");
  if (range === undefined || isRangeName(range)) return range;
  if (typeof range !== "object") throw option.refuse("range", 'be "max", "row", "unit" or [low, high]');
  const ends = readPair(option.call, "range", range, "[low, high]");
  if (ends[1] < ends[0])
    throw new OptionError(`${option.at("range")}[1] must be at least range[0], got ${ends[1]} and ${ends[0]}`);
  return ends;
}

export function readCell(element: string, value: unknown): Cell | null {
  const option = assigned(element, "cell", value);
  if (!option.has("cell")) return null;
  const fields = readFields(option, "cell", ["query", "key"], "{ query, key }");
  const index = (axis: "query" | "key") => {
    const name = `cell.${axis}`;
    return argument(option.call, name, fields[axis]).requiredInteger(name, { min: 0 });
  };
  return { query: index("query"), key: index("key") };
}

export function readView(element: string, value: unknown): MapView {
  const option = assigned(element, "view", value);
  if (!option.has("view")) return WHOLE;
  const fields = readFields(option, "view", ["queries", "keys"], "{ queries: [from, to], keys: [from, to] }");
  const span = (axis: "queries" | "keys") => {
    const path = `view.${axis}`;
    const [from, to] = readPair(option.call, path, fields[axis], "[from, to]");
    if (from < to) return [from, to] as const;
    throw new OptionError(`${element}: ${path}[1] must be greater than ${path}[0], got ${to} and ${from}`);
  };
  return { queries: span("queries"), keys: span("keys") };
}
