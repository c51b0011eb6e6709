import type { CallArguments } from "../call/callArguments.js";
import { argument } from "../call/options.js";
import { OptionError, ShapeError } from "../errors/errors.js";
import { largestOf } from "../tensor/largest.js";

/**
 * Reads the length to rewind to. The function it returns gives a length for every batch, and throws if one is above the
 * number of tokens appended. Call it when it is the call's turn.
 */
export function rewindLengths(call: CallArguments, given: unknown): (appended: readonly number[]) => Int32Array {
  const { operation } = call;
  const reader = argument(call, "length", given);
  if (given === undefined || typeof given === "number") {
    const length = reader.requiredInteger("length", { min: 0 });
    return (appended) => {
      const longest = largestOf(appended);
      if (length > longest) throw reader.refuse("length", `be an integer from 0 to ${longest}`);
      return new Int32Array(appended.length).fill(length);
    };
  }
  const lengths = reader.integers("length", { min: 0 })!;
  return (appended) => {
    if (lengths.length !== appended.length)
      throw new ShapeError(`${operation}: length must have length ${appended.length}, got ${lengths.length}`);
    const outside = lengths.findIndex((length, b) => length > appended[b]!);
    if (outside >= 0)
      throw new OptionError(
        `${operation}: length[${outside}] must be at most the tokens appended, ` +
          `got ${lengths[outside]} and ${appended[outside]}`,
      );
    return lengths;
  };
}

/** Reads a range of tokens. The function it returns checks the range against the number of tokens in the cache. */
export function tokenRange(
  call: CallArguments,
  givenFrom: unknown,
  givenTo: unknown,
): (held: number) => [number, number] {
  const from = argument(call, "from", givenFrom);
  const to = argument(call, "to", givenTo);
  const start = from.requiredInteger("from", { min: 0 });
  const end = to.integer("to", { min: 0 });
  return (held) => {
    if (start > held) throw from.refuse("from", `be an integer from 0 to ${held}`);
    if (end !== undefined && (end < start || end > held))
      throw to.refuse("to", `be an integer from ${start} to ${held}`);
    return [start, end ?? held];
  };
}
