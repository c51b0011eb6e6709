import { OptionError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { argument, readOptions } from "../read/options.js";
import type { MapView } from "./mapProperties.js";
import { readPair } from "./property.js";
import type { AttentionSource } from "./source.js";

// These functions read the arguments of the methods of `<attention-map>`. A wrong value is an OptionError.

export function readFactor(call: CallArguments, value: unknown): number {
  const option = argument(call, "factor", value);
  const factor = option.number("factor");
  if (factor === undefined) throw option.missing("factor", "a finite number above 0");
  if (factor <= 0) throw option.refuse("factor", "be above 0");
  return factor;
}

export function readPixelRatio(call: CallArguments, options: unknown): number {
  const option = readOptions(call, options, ["pixelRatio"]);
  const ratio = option.number("pixelRatio") ?? 2;
  if (ratio <= 0) throw option.refuse("pixelRatio", "be above 0");
  return ratio;
}

/** The rows and columns that are given. */
export function readPart(
  call: CallArguments,
  given: unknown,
  extents: Pick<AttentionSource, "queries" | "keys">,
): Partial<MapView> {
  const option = readOptions(call, given, ["queries", "keys"], "part");
  const spans = (["queries", "keys"] as const).flatMap((axis) =>
    option.has(axis) ? [[axis, readSpan(call, axis, option.value(axis), extents[axis])] as const] : [],
  );
  return Object.fromEntries(spans);
}

function readSpan(call: CallArguments, axis: "queries" | "keys", value: unknown, extent: number) {
  const path = `part.${axis}`;
  const span = readPair(call, path, value, "[from, to]");
  const refuse = (text: string) => new OptionError(`${call.operation}: ${path}${text}`);
  span.forEach((end, n) => {
    if (!Number.isInteger(end)) throw refuse(`[${n}] must be an integer, got ${end}`);
  });
  const [from, to] = span;
  if (from < 0 || to > extent) throw refuse(` must be within the ${extent} ${axis}, got [${from}, ${to}]`);
  if (to <= from) throw refuse(`[1] must be greater than ${path}[0], got ${to} and ${from}`);
  return span;
}
